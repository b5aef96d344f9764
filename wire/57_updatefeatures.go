package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// UpdateFeatures (57): raises or lowers finalized feature levels, metadata.version and kraft.version among them.
//
// Behaviour:
//   - The active controller serves it. kraft.version goes to the raft layer and appends control records.
//
// Version notes:
//   - v0 is flexible and has AllowDowngrade; v1 upgrade type and validate only
//   - v2 answers with one error in place of one for each feature (KIP-1022)

func updateFeaturesRequestLine(l line, m *kmsg.UpdateFeaturesRequest) line {
	l = list(l, m.FeatureUpdates, func(l line, f *kmsg.UpdateFeaturesRequestFeatureUpdate) line {
		l = l.text(f.Feature).add(" to ").num(int64(f.MaxVersionLevel))
		if m.Version == 0 {
			if f.AllowDowngrade {
				return l.add(" downgrade allowed")
			}
			return l
		}
		switch f.UpgradeType {
		case 1:
			return l.add(" upgrade")
		case 2:
			return l.add(" safe downgrade")
		case 3:
			return l.add(" unsafe downgrade")
		default:
			return l.add(" type ").num(int64(f.UpgradeType))
		}
	})
	if m.ValidateOnly {
		l = l.add(", validate only")
	}
	return l
}

func updateFeaturesResponseLine(l line, m *kmsg.UpdateFeaturesResponse) line {
	l = l.failure(m.ErrorCode, m.ErrorMessage)
	if len(m.Results) > 0 {
		l = list(l.add(", "), m.Results, func(l line, r *kmsg.UpdateFeaturesResponseResult) line {
			return l.text(r.Feature).add(": ").failure(r.ErrorCode, r.ErrorMessage)
		})
	}
	return l
}
