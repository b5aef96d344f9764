package e2e

import (
	"os"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
)

// builtBinary is the program under test; "" in the short tier, which runs none.
var builtBinary string

func TestMain(m *testing.M) { os.Exit(kafkatest.RunWithProgram(m, &builtBinary)) }
