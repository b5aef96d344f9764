package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// UnregisterController (94): removes the registration of a controller that is gone for good (from 4.4).
//
// Version notes:
//   - v0 only, flexible

func unregisterControllerRequestLine(l line, m *kmsg.UnregisterControllerRequest) line {
	return l.add("controller ").node(m.ControllerID)
}

func unregisterControllerResponseLine(l line, m *kmsg.UnregisterControllerResponse) line {
	return l.failure(m.ErrorCode, m.ErrorMessage)
}
