package standby

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/wire"
)

// ControllerRegistration (70): a controller tells the active one where it is reached and what levels of features it knows (KIP-919).
//
// Behaviour (Kafka: ControllerRegistrationManager):
//   - Sent while the log lacks a registration of this process's incarnation and the cluster's metadata.version is 3.7-IV0 or above; again
//     after the registration has gone from the log.
//   - To the leader at its address in the voter set, on a connection of its own. A node that leads itself has nobody to register with.
//   - Tried again after 100 ms, and twice as long each time up to 120 s.

const (
	firstRetry    = 100 * time.Millisecond
	lastRetry     = 120 * time.Second
	lookAgain     = 200 * time.Millisecond
	registerLimit = 5 * time.Second // of one attempt (Kafka: NodeToControllerChannelManager's retry timeout is a minute)
)

// register runs until ctx ends.
func (s *Standby) register(ctx context.Context, node Node) {
	retry := firstRetry
	for {
		status := node.Status()
		if !s.due(&status) {
			if !sleep(ctx, lookAgain) {
				return
			}
			continue
		}
		pause := retry + time.Duration(rand.Int64N(int64(retry)/5+1))
		if err := s.tryRegister(ctx, &status); err != nil {
			if s.cfg.Report != nil && ctx.Err() == nil {
				s.cfg.Report(fmt.Errorf("register with the active controller %v: %w", status.Leader, err))
			}
			retry = min(2*retry, lastRetry)
		} else {
			retry = firstRetry
			pause = time.Second // for the record to come back through the log
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// due tells whether a registration is missing. It looks at what the follower of the log has shown, so it may be late by one turn.
func (s *Standby) due(x *controller.Status) bool {
	m := s.shown.Load()
	return x.Leader >= 0 && x.Leader != s.cfg.ID && x.Known > 0 && m.offset >= 0 && m.features[metadataVersion] >= controllerRegistrationLevel &&
		m.controllers[s.cfg.ID].incarnation != s.incarnation
}

func (s *Standby) tryRegister(ctx context.Context, status *controller.Status) error {
	ctx, cancel := context.WithTimeout(ctx, registerLimit)
	defer cancel()
	leader := status.Voters.Find(status.Leader)
	if leader == nil {
		return fmt.Errorf("the voters do not name it")
	}
	address, ok := leader.Endpoints.Address(s.cfg.ListenerName)
	if !ok {
		return fmt.Errorf("its entry among the voters has no listener %s", s.cfg.ListenerName)
	}
	conn, err := controller.Connect(ctx, s.cfg.Dialer, address, controller.Client{
		ID: s.cfg.ID.String(), Software: "understudy", SoftwareVersion: s.cfg.Profile.Build, MaxVersion: 4,
		AnswerBytes: 1 << 20, Frame: registerLimit, Correlation: new(atomic.Int32),
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	version, err := conn.Version(wire.KeyControllerRegistration, 0, 0)
	if err != nil {
		return err
	}
	body, err := conn.RoundTrip(ctx, wire.KeyControllerRegistration, version, s.registration().AppendTo(nil))
	if err != nil {
		return err
	}
	var d wire.Decoder
	decoded, err := d.Response(wire.KeyControllerRegistration, version, body)
	if err != nil {
		return err
	}
	resp := decoded.(*kmsg.ControllerRegistrationResponse)
	if resp.ErrorCode == 0 {
		return nil
	}
	message := ""
	if resp.ErrorMessage != nil {
		message = ": " + *resp.ErrorMessage
	}
	return fmt.Errorf("it answered %v%s", kraft.ErrorCode(resp.ErrorCode), message)
}

func (s *Standby) registration() *kmsg.ControllerRegistrationRequest {
	req := kmsg.NewPtrControllerRegistrationRequest()
	req.ControllerID, req.IncarnationID = int32(s.cfg.ID), s.incarnation
	for _, e := range s.cfg.Endpoints {
		one := kmsg.NewControllerRegistrationRequestListener()
		one.Name, one.Host, one.Port, one.SecurityProtocol = e.Name, e.Host, e.Port, e.SecurityProtocol
		req.Listeners = append(req.Listeners, one)
	}
	for _, f := range supported() {
		one := kmsg.NewControllerRegistrationRequestFeature()
		one.Name, one.MinSupportedVersion, one.MaxSupportedVersion = f.Name, f.Min, f.Max
		req.Features = append(req.Features, one)
	}
	return req
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
