// Package kafka starts real Apache Kafka controllers and brokers, releases 3.9.1 and later, and reads from their
// logs what really happened: role changes, leaders, votes, high watermarks, and at log level Trace each raft
// message.
//
// A quorum is described by a [Config], prepared by [New], and then run:
//
//	q, err := kafka.New(ctx, kafka.Config{Dir: dir, Release: kafka.MustRelease("4.4.0"), Voters: kafka.Dynamic, Brokers: 1})
//	...
//	defer q.Close()
//	first, err := q.StartAll(ctx)                    // controllers, leader, brokers, all ready
//	err = q.Kill(first.Node)                         // SIGKILL; Stop is SIGTERM, Pause SIGSTOP
//	second, err := q.WaitEpochAbove(ctx, first.Epoch)
//	err = q.Restart(ctx, first.Node)
//	for _, l := range q.Truth().Leaders() { ... }    // what Kafka says about itself
//
// With Config.Proxied each controller advertises a port that a proxy must listen on (see [Quorum.Upstreams]), and
// properties that would let traffic go around the proxy are refused.
//
// Releases come from a [Source]: Maven's jars in the user's cache directory, or an unpacked download. A [Dist] only
// has to run classes of Kafka as processes on this machine's network, so a container image can be one too.
//
// In tests use package kafkatest.
package kafka
