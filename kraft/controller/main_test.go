package controller

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(stormNode) != "" {
		os.Exit(beStormNode())
	}
	goleak.VerifyTestMain(m)
}
