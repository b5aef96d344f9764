package main

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
	"github.com/understudy-kafka/understudy/kraft/controller/standby"
)

// standBy gives the node what stands above raft. It must run beside the node.
func standBy(cfg *controller.Config, node *properties.Node, log zerolog.Logger) *standby.Standby {
	c := standby.Config{
		ID: cfg.Directory.NodeID, ClusterID: cfg.Directory.ClusterID, Profile: cfg.Profile, Directory: cfg.Directory.Path(),
		Register: !cfg.Observer, ListenerName: cfg.ListenerName, Dialer: cfg.Dialer, Settings: node.Settings,
		Snapshots: standby.Snapshots{
			Bytes: node.MetadataLog.MaxBytesBetweenSnapshots, Interval: time.Duration(node.MetadataLog.MaxSnapshotIntervalMs) * time.Millisecond,
		},
		Report: func(err error) { log.Warn().Err(err).Msg("tried again later") },
	}
	for _, l := range node.Advertised {
		if address, ok := cfg.Endpoints.Address(l.Name); ok {
			c.Endpoints = append(c.Endpoints, standby.Endpoint{Endpoint: kraft.Endpoint{Name: l.Name, Address: address}, SecurityProtocol: l.Protocol.ID()})
		}
	}
	s := standby.New(c)
	cfg.Handler, cfg.Features = s, s.Features
	return s
}

// runAbove runs the node, with what stands above it, until ctx ends or the node does.
func runAbove(ctx context.Context, c *controller.Controller, above *standby.Standby, log zerolog.Logger) error {
	beside, stop := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() { shrinkOnce(beside, c) })
	tasks.Go(func() {
		if err := above.Run(beside, c); err != nil { // the node goes on: others depend on its vote
			log.Error().Err(err).Msg("the committed records cannot be followed any more")
		}
	})
	err := c.Run(ctx)
	stop()
	tasks.Wait()
	return err
}

// gcPercent keeps the heap of a node small: it is a few MB, so that collecting it often costs little.
const gcPercent = 40

// shrinkOnce gives memory back when the node has started.
func shrinkOnce(ctx context.Context, c *controller.Controller) {
	if _, err := c.Wait(ctx, (*controller.Status).CaughtUp); err != nil {
		return
	}
	select { // the connections and the registration that follow
	case <-time.After(time.Second):
		shrink()
	case <-ctx.Done():
	}
}
