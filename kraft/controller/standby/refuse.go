package standby

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// refuse is the response that says code: at the top where the response has an error there, else for each thing that was asked for, as
// Kafka's getErrorResponse of each request does.
func refuse(key, version int16, body []byte, code kraft.ErrorCode) ([]byte, error) {
	if key == wire.KeyUnregisterController { // not known to kmsg: throttle time, error, null message, no tags
		b := binary.BigEndian.AppendUint16(make([]byte, 4, 8), uint16(code))
		return append(b, 0, 0), nil
	}
	resp := kmsg.ResponseForKey(key)
	if resp == nil {
		return nil, fmt.Errorf("%s: %w", wire.Name(key), wire.ErrUnsupported)
	}
	resp.SetVersion(version)
	if setTop(resp, int16(code)) {
		return resp.AppendTo(nil), nil
	}
	var d wire.Decoder
	req, err := d.Request(key, version, body)
	if err != nil {
		return nil, err
	}
	refuseEach(req, resp, int16(code))
	return resp.AppendTo(nil), nil
}

// setTop sets the one error code of a response; false if it has none.
func setTop(resp kmsg.Response, code int16) bool {
	switch r := resp.(type) {
	case *kmsg.SASLHandshakeResponse:
		r.ErrorCode = code
	case *kmsg.SASLAuthenticateResponse:
		r.ErrorCode, r.SASLAuthBytes = code, []byte{}
	case *kmsg.DescribeACLsResponse:
		r.ErrorCode = code
	case *kmsg.CreateDelegationTokenResponse:
		r.ErrorCode = code
	case *kmsg.RenewDelegationTokenResponse:
		r.ErrorCode = code
	case *kmsg.ExpireDelegationTokenResponse:
		r.ErrorCode = code
	case *kmsg.DescribeDelegationTokenResponse:
		r.ErrorCode = code
	case *kmsg.DescribeUserSCRAMCredentialsResponse:
		r.ErrorCode = code
	case *kmsg.AlterPartitionAssignmentsResponse:
		r.ErrorCode = code
	case *kmsg.ListPartitionReassignmentsResponse:
		r.ErrorCode = code
	case *kmsg.AlterPartitionResponse:
		r.ErrorCode = code
	case *kmsg.UpdateFeaturesResponse:
		r.ErrorCode = code
	case *kmsg.EnvelopeResponse:
		r.ErrorCode = code
	case *kmsg.BrokerRegistrationResponse:
		r.ErrorCode, r.BrokerEpoch = code, -1
	case *kmsg.BrokerHeartbeatResponse:
		r.ErrorCode, r.IsFenced = code, true
	case *kmsg.UnregisterBrokerResponse:
		r.ErrorCode = code
	case *kmsg.AllocateProducerIDsResponse:
		r.ErrorCode = code
	case *kmsg.ControllerRegistrationResponse:
		r.ErrorCode = code
	case *kmsg.AssignReplicasToDirsResponse:
		r.ErrorCode = code
	default:
		return setTopOfVersion(resp, code)
	}
	return true
}

// setTopOfVersion: ElectLeaders has an error of its own from v1 on.
func setTopOfVersion(resp kmsg.Response, code int16) bool {
	r, ok := resp.(*kmsg.ElectLeadersResponse)
	if !ok || r.Version < 1 {
		return false
	}
	r.ErrorCode = code
	return true
}

// refuseEach repeats what was asked for with the error.
func refuseEach(req kmsg.Request, resp kmsg.Response, code int16) {
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range req.(*kmsg.CreateTopicsRequest).Topics {
			one := kmsg.NewCreateTopicsResponseTopic()
			one.Topic, one.ErrorCode = t.Topic, code
			r.Topics = append(r.Topics, one)
		}
	case *kmsg.DeleteTopicsResponse:
		q := req.(*kmsg.DeleteTopicsRequest)
		for i := range q.TopicNames {
			one := kmsg.NewDeleteTopicsResponseTopic()
			one.Topic, one.ErrorCode = &q.TopicNames[i], code
			r.Topics = append(r.Topics, one)
		}
		for _, t := range q.Topics {
			one := kmsg.NewDeleteTopicsResponseTopic()
			one.Topic, one.TopicID, one.ErrorCode = t.Topic, t.TopicID, code
			r.Topics = append(r.Topics, one)
		}
	case *kmsg.CreateACLsResponse:
		for range req.(*kmsg.CreateACLsRequest).Creations {
			r.Results = append(r.Results, kmsg.CreateACLsResponseResult{ErrorCode: code})
		}
	case *kmsg.DeleteACLsResponse:
		for range req.(*kmsg.DeleteACLsRequest).Filters {
			r.Results = append(r.Results, kmsg.DeleteACLsResponseResult{ErrorCode: code})
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range req.(*kmsg.CreatePartitionsRequest).Topics {
			r.Topics = append(r.Topics, kmsg.CreatePartitionsResponseTopic{Topic: t.Topic, ErrorCode: code})
		}
	case *kmsg.ElectLeadersResponse: // v0
		for _, t := range req.(*kmsg.ElectLeadersRequest).Topics {
			one := kmsg.ElectLeadersResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				one.Partitions = append(one.Partitions, kmsg.ElectLeadersResponseTopicPartition{Partition: p, ErrorCode: code})
			}
			r.Topics = append(r.Topics, one)
		}
	default:
		refuseSettings(req, resp, code)
	}
}

func refuseSettings(req kmsg.Request, resp kmsg.Response, code int16) {
	switch r := resp.(type) {
	case *kmsg.AlterConfigsResponse:
		for _, c := range req.(*kmsg.AlterConfigsRequest).Resources {
			r.Resources = append(r.Resources, kmsg.AlterConfigsResponseResource{ResourceType: c.ResourceType, ResourceName: c.ResourceName, ErrorCode: code})
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, c := range req.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			r.Resources = append(r.Resources, kmsg.IncrementalAlterConfigsResponseResource{ResourceType: c.ResourceType, ResourceName: c.ResourceName, ErrorCode: code})
		}
	case *kmsg.AlterClientQuotasResponse:
		for _, e := range req.(*kmsg.AlterClientQuotasRequest).Entries {
			one := kmsg.AlterClientQuotasResponseEntry{ErrorCode: code}
			for _, part := range e.Entity {
				one.Entity = append(one.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
			}
			r.Entries = append(r.Entries, one)
		}
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		q := req.(*kmsg.AlterUserSCRAMCredentialsRequest)
		var users []string
		for _, d := range q.Deletions {
			users = append(users, d.Name)
		}
		for _, u := range q.Upsertions {
			users = append(users, u.Name)
		}
		for _, user := range users {
			r.Results = append(r.Results, kmsg.AlterUserSCRAMCredentialsResponseResult{User: user, ErrorCode: code})
		}
	}
}
