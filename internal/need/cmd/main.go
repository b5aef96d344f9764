// Command cmd makes sure that the programs named by its arguments are installed, or says how to install them.
package main

import (
	"fmt"
	"os"

	"github.com/understudy-kafka/understudy/internal/need"
)

func main() {
	code := 0
	for _, tool := range os.Args[1:] {
		if _, err := need.Tool(tool); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
