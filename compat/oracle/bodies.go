package oracle

import (
	"encoding/base64"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// Body is the i-th argument as the bytes that it stands for, nil if it is absent.
func (e *Effect) Body(i int) []byte {
	if i >= len(e.Args) || e.Args[i] == nil {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(e.Text(i))
	if err != nil {
		return nil
	}
	return b
}

// APIVersionsBody is the answer of a server that supports this range of kraft.version.
func APIVersionsBody(version, minLevel, maxLevel int16) []byte {
	r := kmsg.NewPtrApiVersionsResponse()
	r.SetVersion(version)
	f := kmsg.NewApiVersionsResponseSupportedFeature()
	f.Name, f.MinVersion, f.MaxVersion = "kraft.version", minLevel, maxLevel
	r.SupportedFeatures = append(r.SupportedFeatures, f)
	return r.AppendTo(nil)
}

// ErrorBody is a response with a top-level error and nothing else.
func ErrorBody(api, version int16, code kraft.ErrorCode) []byte {
	r := kmsg.ResponseForKey(api)
	r.SetVersion(version)
	switch r := r.(type) {
	case *kmsg.VoteResponse:
		r.ErrorCode = int16(code)
	case *kmsg.BeginQuorumEpochResponse:
		r.ErrorCode = int16(code)
	case *kmsg.EndQuorumEpochResponse:
		r.ErrorCode = int16(code)
	case *kmsg.FetchResponse:
		r.ErrorCode = int16(code)
	case *kmsg.FetchSnapshotResponse:
		r.ErrorCode = int16(code)
	case *kmsg.DescribeQuorumResponse:
		r.ErrorCode = int16(code)
	case *kmsg.AddRaftVoterResponse:
		r.ErrorCode = int16(code)
	case *kmsg.RemoveRaftVoterResponse:
		r.ErrorCode = int16(code)
	case *kmsg.UpdateRaftVoterResponse:
		r.ErrorCode = int16(code)
	case *kmsg.ApiVersionsResponse:
		r.ErrorCode = int16(code)
	}
	return r.AppendTo(nil)
}

// Decode reads a message's body.
func Decode(m Message) (kmsg.Request, kmsg.Response, error) {
	if m.Response {
		r := kmsg.ResponseForKey(m.API)
		if r == nil {
			return nil, nil, fmt.Errorf("response with api key %d", m.API)
		}
		r.SetVersion(m.Version)
		return nil, r, r.ReadFrom(m.Body)
	}
	r := kmsg.RequestForKey(m.API)
	if r == nil {
		return nil, nil, fmt.Errorf("request with api key %d", m.API)
	}
	r.SetVersion(m.Version)
	return r, nil, r.ReadFrom(m.Body)
}

// Describe is a response on one line, as far as scripts look at it.
func Describe(m Message) string {
	_, resp, err := Decode(m)
	if err != nil || resp == nil {
		return fmt.Sprintf("%s: %d bytes", kmsg.Key(m.API).Name(), len(m.Body))
	}
	switch r := resp.(type) {
	case *kmsg.VoteResponse:
		if len(r.Topics) > 0 {
			p := r.Topics[0].Partitions[0]
			return fmt.Sprintf("%s granted %t", answer(p.ErrorCode, p.LeaderID, p.LeaderEpoch), p.VoteGranted)
		}
		return kraft.ErrorCode(r.ErrorCode).String()
	case *kmsg.BeginQuorumEpochResponse:
		if len(r.Topics) > 0 {
			p := r.Topics[0].Partitions[0]
			return answer(p.ErrorCode, p.LeaderID, p.LeaderEpoch)
		}
		return kraft.ErrorCode(r.ErrorCode).String()
	case *kmsg.FetchResponse:
		if len(r.Topics) > 0 {
			p := r.Topics[0].Partitions[0]
			return fmt.Sprintf("%s hw %d records %d bytes", answer(p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch),
				p.HighWatermark, len(p.RecordBatches))
		}
		return kraft.ErrorCode(r.ErrorCode).String()
	case *kmsg.AddRaftVoterResponse:
		return kraft.ErrorCode(r.ErrorCode).String()
	case *kmsg.RemoveRaftVoterResponse:
		return kraft.ErrorCode(r.ErrorCode).String()
	case *kmsg.UpdateRaftVoterResponse:
		return kraft.ErrorCode(r.ErrorCode).String()
	}
	return fmt.Sprintf("%s: %d bytes", kmsg.Key(m.API).Name(), len(m.Body))
}

func answer(code int16, leader, epoch int32) string {
	return fmt.Sprintf("%v leader %d epoch %d", kraft.ErrorCode(code), leader, epoch)
}
