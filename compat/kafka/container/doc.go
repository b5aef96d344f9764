// Package container runs a quorum of Kafka controllers from container images behind understudy, in other people's
// tests: each controller advertises a port of the proxy, everything that crosses is recorded, and the shadow judges
// it.
//
//	func TestQuorum(t *testing.T) {
//		q := container.Start(t, container.Config{Image: "understudy/kafka:4.4.0"})
//		...
//		q.MustConform(t)
//	}
//
// A [Quorum] is a [kafka.Quorum]: its nodes can be killed, paused, restarted and waited for, and what their logs say
// is in its Truth. The proxy runs in the test's own process, so faults can be given to it ([Config.Faults]).
//
// # What it takes
//
// Linux, and a container engine on this machine that testcontainers-go finds (DOCKER_HOST, or Docker's own socket).
// Containers use the network of the host, since the proxy must be what the controllers advertise, and the proxy is
// this process. They run as the user who runs the test and see the directory of the quorum under its own path.
// testcontainers' reaper, which removes what a killed test leaves, needs its own image and a bridge network; where
// there is neither, set TESTCONTAINERS_RYUK_DISABLED=true.
//
// With -short, Start skips the test and says so. Where no engine answers, it fails the test and says what to do.
//
// # A module of its own
//
// testcontainers-go brings some fifty modules with it. None of them is of use to the program understudy, and whoever
// installs that, or scans what it depends on, should not meet them. So this package has a go.mod of its own.
package container
