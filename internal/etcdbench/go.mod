module github.com/understudy-kafka/understudy/internal/etcdbench

go 1.26.0

require (
	github.com/understudy-kafka/understudy v0.0.0
	go.etcd.io/raft/v3 v3.6.0
)

require (
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/uuid v1.6.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/understudy-kafka/understudy => ../..
