package oracle_test

import (
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
)

// TestKafka_MachineFollowsScripts plays the scripts with a machine of ours beside each real client.
func TestKafka_MachineFollowsScripts(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			tw := twin.New(start(t, oracle.Build{Version: version}))
			checks := 0
			for _, sc := range scripts {
				if sc.from != "" && !from(version, sc.from) {
					continue
				}
				t.Run(sc.name, func(t *testing.T) {
					sc.run(&scene{T: t, Cluster: oracle.NewCluster(tw), version: version, checks: &checks})
				})
				if err := tw.Reset(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("Kafka %s: %d steps equal", version, tw.Steps)
		})
	}
}
