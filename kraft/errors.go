package kraft

import "strconv"

// ErrorCode is a Kafka protocol error (Kafka: org.apache.kafka.common.protocol.Errors).
type ErrorCode int16

// The errors that KRaft requests are answered with.
const (
	UnknownServerError         ErrorCode = -1
	None                       ErrorCode = 0
	CorruptMessage             ErrorCode = 2
	UnknownTopicOrPartition    ErrorCode = 3
	NotLeaderOrFollower        ErrorCode = 6
	RequestTimedOut            ErrorCode = 7
	BrokerNotAvailable         ErrorCode = 8
	NetworkException           ErrorCode = 13
	ClusterAuthorizationFailed ErrorCode = 31
	UnsupportedSaslMechanism   ErrorCode = 33
	IllegalSaslState           ErrorCode = 34
	UnsupportedVersion         ErrorCode = 35
	NotController              ErrorCode = 41
	InvalidRequest             ErrorCode = 42
	SaslAuthenticationFailed   ErrorCode = 58
	FencedLeaderEpoch          ErrorCode = 74
	UnknownLeaderEpoch         ErrorCode = 75
	StaleBrokerEpoch           ErrorCode = 77
	InconsistentVoterSet       ErrorCode = 94
	InvalidUpdateVersion       ErrorCode = 95
	SnapshotNotFound           ErrorCode = 98
	PositionOutOfRange         ErrorCode = 99
	UnknownTopicID             ErrorCode = 100
	DuplicateBroker            ErrorCode = 101
	BrokerIDNotRegistered      ErrorCode = 102
	InconsistentClusterID      ErrorCode = 104
	MismatchedEndpointType     ErrorCode = 114
	UnsupportedEndpointType    ErrorCode = 115
	InvalidVoterKey            ErrorCode = 125
	DuplicateVoter             ErrorCode = 126
	VoterNotFound              ErrorCode = 127
	RebootstrapRequired        ErrorCode = 129
)

var errorNames = map[ErrorCode]string{
	UnknownServerError:         "UNKNOWN_SERVER_ERROR",
	None:                       "NONE",
	CorruptMessage:             "CORRUPT_MESSAGE",
	UnknownTopicOrPartition:    "UNKNOWN_TOPIC_OR_PARTITION",
	NotLeaderOrFollower:        "NOT_LEADER_OR_FOLLOWER",
	RequestTimedOut:            "REQUEST_TIMED_OUT",
	BrokerNotAvailable:         "BROKER_NOT_AVAILABLE",
	NetworkException:           "NETWORK_EXCEPTION",
	ClusterAuthorizationFailed: "CLUSTER_AUTHORIZATION_FAILED",
	UnsupportedSaslMechanism:   "UNSUPPORTED_SASL_MECHANISM",
	IllegalSaslState:           "ILLEGAL_SASL_STATE",
	UnsupportedVersion:         "UNSUPPORTED_VERSION",
	NotController:              "NOT_CONTROLLER",
	InvalidRequest:             "INVALID_REQUEST",
	SaslAuthenticationFailed:   "SASL_AUTHENTICATION_FAILED",
	FencedLeaderEpoch:          "FENCED_LEADER_EPOCH",
	UnknownLeaderEpoch:         "UNKNOWN_LEADER_EPOCH",
	StaleBrokerEpoch:           "STALE_BROKER_EPOCH",
	InconsistentVoterSet:       "INCONSISTENT_VOTER_SET",
	InvalidUpdateVersion:       "INVALID_UPDATE_VERSION",
	SnapshotNotFound:           "SNAPSHOT_NOT_FOUND",
	PositionOutOfRange:         "POSITION_OUT_OF_RANGE",
	UnknownTopicID:             "UNKNOWN_TOPIC_ID",
	DuplicateBroker:            "DUPLICATE_BROKER_REGISTRATION",
	BrokerIDNotRegistered:      "BROKER_ID_NOT_REGISTERED",
	InconsistentClusterID:      "INCONSISTENT_CLUSTER_ID",
	MismatchedEndpointType:     "MISMATCHED_ENDPOINT_TYPE",
	UnsupportedEndpointType:    "UNSUPPORTED_ENDPOINT_TYPE",
	InvalidVoterKey:            "INVALID_VOTER_KEY",
	DuplicateVoter:             "DUPLICATE_VOTER",
	VoterNotFound:              "VOTER_NOT_FOUND",
	RebootstrapRequired:        "REBOOTSTRAP_REQUIRED",
}

// String is Kafka's name of the error, or "error N" for one that KRaft does not use.
func (c ErrorCode) String() string {
	if name, ok := errorNames[c]; ok {
		return name
	}
	return "error " + strconv.Itoa(int(c))
}

// ErrorCodeByName returns the error with Kafka's name of it, as [ErrorCode.String] prints it.
func ErrorCodeByName(name string) (ErrorCode, bool) {
	for code, known := range errorNames {
		if known == name {
			return code, true
		}
	}
	return None, false
}
