package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka/container"
)

// removeLeftovers removes the containers and volumes that tests with their directories below dir have left in an engine that
// goes on: a test that is killed cleans nothing up.
func removeLeftovers(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var all error
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "--all", "--format", "{{.ID}} {{.Label \"" + container.DirLabel + "\"}}"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"volume", "ls", "--format", "{{.Name}} {{.Label \"" + container.DirLabel + "\"}}"}, []string{"volume", "rm", "--force"}},
	} {
		out, err := exec.CommandContext(ctx, "docker", append(kind.list, "--filter", "label="+container.DirLabel)...).Output()
		if err != nil {
			all = errors.Join(all, fmt.Errorf("docker %s: %w", strings.Join(kind.list, " "), err))
			continue
		}
		if left := below(dir, string(out)); len(left) > 0 {
			say("removing what the tests have left: %s", strings.Join(left, " "))
			all = errors.Join(all, run(exec.CommandContext(ctx, "docker", append(kind.remove, left...)...)))
		}
	}
	return all
}

// below picks the names of those whose directory lies below dir from lines of a name and a directory.
func below(dir, lines string) (names []string) {
	for line := range strings.Lines(lines) {
		name, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(at, dir+"/") {
			names = append(names, name)
		}
	}
	return names
}
