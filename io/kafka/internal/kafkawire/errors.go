package kafkawire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrClosed is returned by calls on a Client, Fetcher, Partition or Producer after its Close.
var ErrClosed = errors.New("kafkawire: closed")

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String gives topic/partition.
func (tp TopicPartition) String() string {
	return tp.Topic + "/" + strconv.Itoa(int(tp.Partition))
}

// Code is an error number of the Kafka protocol. It is an error itself, so that errors.Is(err, CodeNotLeader) works through wrapping.
//
// Source: the error table of https://kafka.apache.org/protocol.
type Code int16

// The codes that callers and this package tell apart.
const (
	CodeUnknownServerError      Code = -1
	CodeNone                    Code = 0
	CodeOffsetOutOfRange        Code = 1
	CodeCorruptMessage          Code = 2
	CodeUnknownTopic            Code = 3
	CodeLeaderNotAvailable      Code = 5
	CodeNotLeader               Code = 6
	CodeRequestTimedOut         Code = 7
	CodeBrokerNotAvailable      Code = 8
	CodeReplicaNotAvailable     Code = 9
	CodeMessageTooLarge         Code = 10
	CodeNetwork                 Code = 13
	CodeCoordinatorLoading      Code = 14
	CodeCoordinatorNotAvailable Code = 15
	CodeNotCoordinator          Code = 16
	CodeInvalidTopic            Code = 17
	CodeRecordListTooLarge      Code = 18
	CodeNotEnoughReplicas       Code = 19
	CodeNotEnoughReplicasAfter  Code = 20
	CodeTopicAuthorization      Code = 29
	CodeGroupAuthorization      Code = 30
	CodeClusterAuthorization    Code = 31
	CodeInvalidTimestamp        Code = 32
	CodeUnsupportedSASL         Code = 33
	CodeIllegalSASLState        Code = 34
	CodeUnsupportedVersion      Code = 35
	CodeTopicExists             Code = 36
	CodeNotController           Code = 41
	CodePolicyViolation         Code = 44
	CodeOutOfOrderSequence      Code = 45
	CodeDuplicateSequence       Code = 46
	CodeInvalidProducerEpoch    Code = 47
	CodeInvalidTxnState         Code = 48
	CodeInvalidProducerMapping  Code = 49
	CodeInvalidTxnTimeout       Code = 50
	CodeConcurrentTransactions  Code = 51
	CodeOperationNotAttempted   Code = 55
	CodeStorageError            Code = 56
	CodeSASLAuthentication      Code = 58
	CodeUnknownProducerID       Code = 59
	CodeGroupNotFound           Code = 69
	CodeFencedLeaderEpoch       Code = 74
	CodeUnknownLeaderEpoch      Code = 75
	CodeUnsupportedCompression  Code = 76
	CodeOffsetNotAvailable      Code = 78
	CodeInvalidRecord           Code = 87
	CodeUnstableOffsetCommit    Code = 88
	CodeThrottlingQuota         Code = 89
	CodeProducerFenced          Code = 90
	CodeUnknownTopicID          Code = 100
	CodeInconsistentTopicID     Code = 103
)

// codeNames is indexed by number + 1. kafka-go's own table is wrong above 106 and for 55, so it is not used.
var codeNames = strings.Fields(`UNKNOWN_SERVER_ERROR NONE OFFSET_OUT_OF_RANGE CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION
INVALID_FETCH_SIZE LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT BROKER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE
MESSAGE_TOO_LARGE STALE_CONTROLLER_EPOCH OFFSET_METADATA_TOO_LARGE NETWORK_EXCEPTION COORDINATOR_LOAD_IN_PROGRESS
COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR INVALID_TOPIC_EXCEPTION RECORD_LIST_TOO_LARGE NOT_ENOUGH_REPLICAS
NOT_ENOUGH_REPLICAS_AFTER_APPEND INVALID_REQUIRED_ACKS ILLEGAL_GENERATION INCONSISTENT_GROUP_PROTOCOL INVALID_GROUP_ID
UNKNOWN_MEMBER_ID INVALID_SESSION_TIMEOUT REBALANCE_IN_PROGRESS INVALID_COMMIT_OFFSET_SIZE TOPIC_AUTHORIZATION_FAILED
GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED INVALID_TIMESTAMP UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE
UNSUPPORTED_VERSION TOPIC_ALREADY_EXISTS INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG
NOT_CONTROLLER INVALID_REQUEST UNSUPPORTED_FOR_MESSAGE_FORMAT POLICY_VIOLATION OUT_OF_ORDER_SEQUENCE_NUMBER
DUPLICATE_SEQUENCE_NUMBER INVALID_PRODUCER_EPOCH INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING INVALID_TRANSACTION_TIMEOUT
CONCURRENT_TRANSACTIONS TRANSACTION_COORDINATOR_FENCED TRANSACTIONAL_ID_AUTHORIZATION_FAILED SECURITY_DISABLED
OPERATION_NOT_ATTEMPTED KAFKA_STORAGE_ERROR LOG_DIR_NOT_FOUND SASL_AUTHENTICATION_FAILED UNKNOWN_PRODUCER_ID
REASSIGNMENT_IN_PROGRESS DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_EXPIRED INVALID_PRINCIPAL_TYPE
NON_EMPTY_GROUP GROUP_ID_NOT_FOUND FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH LISTENER_NOT_FOUND
TOPIC_DELETION_DISABLED FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH UNSUPPORTED_COMPRESSION_TYPE STALE_BROKER_EPOCH
OFFSET_NOT_AVAILABLE MEMBER_ID_REQUIRED PREFERRED_LEADER_NOT_AVAILABLE GROUP_MAX_SIZE_REACHED FENCED_INSTANCE_ID
ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED NO_REASSIGNMENT_IN_PROGRESS GROUP_SUBSCRIBED_TO_TOPIC INVALID_RECORD
UNSTABLE_OFFSET_COMMIT THROTTLING_QUOTA_EXCEEDED PRODUCER_FENCED RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL
INCONSISTENT_VOTER_SET INVALID_UPDATE_VERSION FEATURE_UPDATE_FAILED PRINCIPAL_DESERIALIZATION_FAILURE SNAPSHOT_NOT_FOUND
POSITION_OUT_OF_RANGE UNKNOWN_TOPIC_ID DUPLICATE_BROKER_REGISTRATION BROKER_ID_NOT_REGISTERED INCONSISTENT_TOPIC_ID
INCONSISTENT_CLUSTER_ID TRANSACTIONAL_ID_NOT_FOUND FETCH_SESSION_TOPIC_ID_ERROR INELIGIBLE_REPLICA NEW_LEADER_ELECTED
OFFSET_MOVED_TO_TIERED_STORAGE FENCED_MEMBER_EPOCH UNRELEASED_INSTANCE_ID UNSUPPORTED_ASSIGNOR STALE_MEMBER_EPOCH
MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE UNKNOWN_CONTROLLER_ID UNKNOWN_SUBSCRIPTION_ID TELEMETRY_TOO_LARGE
INVALID_REGISTRATION TRANSACTION_ABORTABLE INVALID_RECORD_STATE SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH
FENCED_STATE_EPOCH INVALID_VOTER_KEY DUPLICATE_VOTER VOTER_NOT_FOUND INVALID_REGULAR_EXPRESSION REBOOTSTRAP_REQUIRED
STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED SHARE_SESSION_LIMIT_REACHED`)

// Error gives the protocol's name and the number.
func (c Code) Error() string {
	if i := int(c) + 1; i >= 0 && i < len(codeNames) {
		return codeNames[i] + " (" + strconv.Itoa(int(c)) + ")"
	}
	return "broker error " + strconv.Itoa(int(c))
}

// stale reports a code that says our view of the cluster is old: another broker, or the same one under another epoch, must be asked.
func (c Code) stale() bool {
	switch c {
	case CodeUnknownTopic, CodeLeaderNotAvailable, CodeNotLeader, CodeReplicaNotAvailable, CodeStorageError, CodeFencedLeaderEpoch,
		CodeUnknownLeaderEpoch, CodeOffsetNotAvailable, CodeUnknownTopicID, CodeInconsistentTopicID, CodeBrokerNotAvailable:
		return true
	}
	return false
}

// retriable reports a code after which the same request may succeed a little later.
func (c Code) retriable() bool {
	switch c {
	case CodeUnknownServerError, CodeRequestTimedOut, CodeNetwork, CodeCoordinatorLoading, CodeCoordinatorNotAvailable, CodeNotCoordinator,
		CodeNotEnoughReplicas, CodeNotEnoughReplicasAfter, CodeNotController, CodeConcurrentTransactions, CodeUnstableOffsetCommit,
		CodeThrottlingQuota:
		return true
	}
	return c.stale()
}

// remedy says what to look at, for the codes where that is not obvious from the name. It begins with "; " or is empty.
func (c Code) remedy() string {
	switch c {
	case CodeUnknownTopic, CodeUnknownTopicID:
		return "; check the topic's name, create it, or grant Describe on it"
	case CodeTopicAuthorization:
		return "; grant this user Read, Write or Describe on the topic"
	case CodeGroupAuthorization:
		return "; grant this user Read on the group"
	case CodeClusterAuthorization:
		return "; grant this user the right on the cluster (Create, or IdempotentWrite before Kafka 2.8)"
	case CodeSASLAuthentication, CodeIllegalSASLState, CodeUnsupportedSASL:
		return "; check user, password and SASL mechanism"
	case CodeMessageTooLarge, CodeRecordListTooLarge:
		return "; raise the topic's max.message.bytes or lower the producer's MaxBatchBytes"
	case CodeInvalidTimestamp:
		return "; the broker refuses timestamps more than message.timestamp.after.max.ms ahead (one hour by default): " +
			"mend the timestamp or raise that setting on the topic"
	case CodeUnsupportedVersion:
		return "; Apache Kafka 2.7 or later is needed"
	case CodeOutOfOrderSequence, CodeInvalidProducerEpoch, CodeProducerFenced, CodeUnknownProducerID, CodeInvalidProducerMapping:
		return "; another instance writes with this producer id or the broker lost its state: restart from the last checkpoint"
	}
	return ""
}

// RequestError is a refused or failed request, with what was asked of whom. It unwraps to a Code when a broker refused, to the network's
// error when no answer came.
type RequestError struct {
	Op        string // what was asked: "fetch", "list offsets", …
	Broker    string // "broker 2 (host:9092)", or the bootstrap addresses
	Topic     string // empty when the request is about no topic
	Partition int32  // -1 when it is about none
	Message   string // the broker's own words, if any
	Err       error
}

// Error locates the failure and ends with what to check.
func (e *RequestError) Error() string {
	var b strings.Builder
	b.WriteString("kafkawire: ")
	b.WriteString(e.Op)
	if e.Topic != "" {
		b.WriteString(" " + e.Topic)
		if e.Partition >= 0 {
			b.WriteString("/" + strconv.Itoa(int(e.Partition)))
		}
	}
	if e.Broker != "" {
		b.WriteString(": " + e.Broker)
	}
	b.WriteString(": " + e.Err.Error())
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	var c Code
	if errors.As(e.Err, &c) {
		b.WriteString(c.remedy())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// MalformedError is data that breaks the record-batch format. It is never retried: the same bytes would come again.
type MalformedError struct {
	Topic     string
	Partition int32
	Offset    int64 // base offset of the batch, or the position where a batch was expected
	Reason    string
}

// Error locates the batch.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("kafkawire: %s/%d: batch at offset %d is malformed: %s; the log or a proxy damaged it: check the broker's disk, "+
		"or start behind this offset", e.Topic, e.Partition, e.Offset, e.Reason)
}

// OffsetOutOfRangeError says that a position is not in the log any more, or not yet. Kafka rule: below LogStart the records
// [Position, LogStart) were deleted by retention; above End the log was truncated or recreated.
type OffsetOutOfRangeError struct {
	Topic     string
	Partition int32
	Position  int64
	LogStart  int64
	End       int64
}

// Lost is the number of offsets between the position and the log's start, 0 when the position is beyond the end.
func (e *OffsetOutOfRangeError) Lost() int64 { return max(0, e.LogStart-e.Position) }

// Error says what is gone and what to choose.
func (e *OffsetOutOfRangeError) Error() string {
	if e.Position < e.LogStart {
		return fmt.Sprintf("kafkawire: %s/%d: offsets [%d,%d) were deleted by retention (the log is [%d,%d)); "+
			"choose what to do with lost data: fail, go on at the earliest, or at the latest offset",
			e.Topic, e.Partition, e.Position, e.LogStart, e.LogStart, e.End)
	}
	return fmt.Sprintf("kafkawire: %s/%d: position %d is beyond the end of the log [%d,%d): it was truncated or the topic was recreated; "+
		"choose a new start", e.Topic, e.Partition, e.Position, e.LogStart, e.End)
}

// Is makes errors.Is(err, CodeOffsetOutOfRange) hold.
func (e *OffsetOutOfRangeError) Is(target error) bool { return target == error(CodeOffsetOutOfRange) }

// TruncatedError says that the log no longer has the history that was read: the records up to Position were read under LeaderEpoch, and
// the log of the present leader ends that epoch earlier (an unclean leader election). KIP-320.
type TruncatedError struct {
	Topic       string
	Partition   int32
	Position    int64
	LeaderEpoch int32
	EndEpoch    int32 // largest epoch up to LeaderEpoch that the leader knows
	EndOffset   int64 // where that epoch ends; records from here to Position were lost on the broker
}

// Error says where the histories part.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("kafkawire: %s/%d: the log was truncated: read up to offset %d under leader epoch %d, but epoch %d now ends at %d; "+
		"records in between were read and then lost by the cluster: choose a new start",
		e.Topic, e.Partition, e.Position, e.LeaderEpoch, e.EndEpoch, e.EndOffset)
}
