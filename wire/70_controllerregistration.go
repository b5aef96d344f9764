package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// ControllerRegistration (70): a controller tells the active one its listeners and feature ranges (KIP-919).
//
// Behaviour:
//   - Sent once for each incarnation of the process, and again after UnregisterController.
//   - NOT_CONTROLLER from a controller that is not active; the sender looks for the leader again.
//
// Version notes:
//   - v0 only, flexible

func controllerRegistrationRequestLine(l line, m *kmsg.ControllerRegistrationRequest) line {
	l = l.add("controller ").node(m.ControllerID).add(", incarnation ").uuid(m.IncarnationID)
	l = list(l.add(", listeners "), m.Listeners, func(l line, e *kmsg.ControllerRegistrationRequestListener) line {
		return l.endpoint(e.Name, e.Host, e.Port)
	})
	return l.add(", ").num(int64(len(m.Features))).add(" features")
}

func controllerRegistrationResponseLine(l line, m *kmsg.ControllerRegistrationResponse) line {
	return l.failure(m.ErrorCode, m.ErrorMessage)
}
