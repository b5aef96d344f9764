package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// IncrementalAlterConfigs (44): sets, deletes, appends to or subtracts from single configuration values.
//
// Behaviour:
//   - The active controller serves it; brokers forward it in an Envelope.
//   - Values may be passwords, so names and operations are printed, values never.
//
// Version notes:
//   - v1 flexible

func incrementalAlterConfigsRequestLine(l line, m *kmsg.IncrementalAlterConfigsRequest) line {
	l = list(l, m.Resources, func(l line, r *kmsg.IncrementalAlterConfigsRequestResource) line {
		l = l.add(r.ResourceType.String()).add(" ").text(r.ResourceName).add(": ")
		return list(l, r.Configs, func(l line, c *kmsg.IncrementalAlterConfigsRequestResourceConfig) line {
			return l.add(c.Op.String()).add(" ").text(c.Name)
		})
	})
	if m.ValidateOnly {
		l = l.add(", validate only")
	}
	return l
}

func incrementalAlterConfigsResponseLine(l line, m *kmsg.IncrementalAlterConfigsResponse) line {
	return list(l, m.Resources, func(l line, r *kmsg.IncrementalAlterConfigsResponseResource) line {
		return l.add(r.ResourceType.String()).add(" ").text(r.ResourceName).add(": ").code(r.ErrorCode)
	})
}
