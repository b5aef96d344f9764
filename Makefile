# Everything a user needs: `make demo` shows the main job, `make test` proves it.

GO       ?= go
VERSION  ?= dev
LDFLAGS   = -X github.com/understudy-kafka/understudy/internal/build.Version=$(VERSION)
GOLANGCI  = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help build demo test test-short test-explore test-kafka test-matrix conform-matrix oracle oracle-coverage soak-oracle soak bench bench-proxy bench-check bench-etcd bench-mixed lint generate clean test-live test-sim test-pages test-mixed test-mixed-leaders test-mixed-changes test-storm test-containers test-replay images soak-sim bench-sim

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: ## bin/understudy
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/understudy ./cmd/understudy

demo: build ## the main job end to end, on three nodes of understudy and a recorded quorum of Kafka; needs only Go
	bin/understudy demo

test: test-short test-explore test-sim test-kafka ## what a user trusts: all packages under the race detector, then real Kafka 4.0.0 and 4.4.0 (<= 15 min)

test-short: ## no Kafka, <= 60 s once the modules are compiled
	$(GO) vet ./...
	$(GO) test -race -shuffle=on -short -timeout 10m ./...
	$(GO) vet -C compat/kafka/container ./...
	$(GO) test -C compat/kafka/container -short ./...

test-explore: ## every state of ten small quorums, on the real engine: 5.7 million states (<= 60 s on one core)
	$(GO) test -count=1 -timeout 10m ./kraft/explore

test-sim: ## quorums under faults: 2,200 seeds, 2 x 10^7 events, and every broken twin (<= 90 s on one core); 300 quorums before tier 2 (<= 60 s), its search against full enumeration (<= 20 s), damaged streams (<= 40 s)
	$(GO) test -count=1 -timeout 20m -v -run 'NoSeed|Twins|Liveness|SameSeed' ./kraft/sim
	$(GO) test -count=1 -timeout 20m -v -run 'HonestQuorums|BruteForce_Agrees|MidStream|LeadersThatEnd' ./proxy/shadow/belief
	$(GO) test -count=1 -timeout 20m -run 'Tier2|Corrupted' ./proxy/shadow

test-pages: ## the HTML pages, drawn by a real Chromium; installs it with apt when root
	$(GO) run ./internal/need/cmd chromium
	$(GO) test -count=1 -timeout 10m -run 'Chromium' ./cmd/understudy

test-mixed: test-mixed-leaders test-mixed-changes ## our nodes in quorums of real controllers of all builds; -j2 runs both parts at once (three quarters of an hour, half an hour with -j2)

MIXED_LEADERS = HandsOver|NeverStands|AreMixed|KilledNodes

test-mixed-leaders: ## leaders killed, paused and restarted on each build, ours leads and hands over, two of three are ours, releases mixed, 50 SIGKILLs
	$(GO) run ./internal/need/cmd java javac mvn
	UNDERSTUDY_MIXED=1 UNDERSTUDY_MATRIX=1 $(GO) test -count=1 -timeout 60m -run '$(MIXED_LEADERS)' ./compat/mixed

test-mixed-changes: ## voters changed by Kafka's tools, kraft.version, snapshots, directories that change hands, poison, chaos, TLS and SASL
	$(GO) run ./internal/need/cmd java javac mvn
	UNDERSTUDY_MIXED=1 UNDERSTUDY_MATRIX=1 $(GO) test -count=1 -timeout 60m -run 'Kafka|Matrix' -skip '$(MIXED_LEADERS)' ./compat/mixed

test-storm: ## 200 SIGKILLs of three nodes of ours under load, then 50 in a quorum with two controllers of Kafka 4.4.0; make test-matrix has the 200 (<= 10 min)
	$(GO) run ./internal/need/cmd java javac mvn
	UNDERSTUDY_MATRIX=1 $(GO) test -count=1 -v -timeout 20m -run 'Storm' ./kraft/controller
	UNDERSTUDY_MIXED=1 UNDERSTUDY_MATRIX=1 $(GO) test -count=1 -v -timeout 35m -run 'KilledNodes' ./compat/mixed

test-containers: ## quorums of containers, Kafka 4.0.0 and 4.4.0, behind the proxy: builds the images without a registry, starts a container engine when root and none runs (<= 6 min)
	$(GO) run ./internal/need/cmd java javac mvn
	$(GO) run -C compat/kafka/container ./local

test-replay: ## a recording of a real node of 4.4.0, replayed to the same release and to 4.0.0 and 4.2.1 (4 min on a quiet machine)
	$(GO) run ./internal/need/cmd java mvn
	UNDERSTUDY_REPLAY=1 $(GO) test -count=1 -v -timeout 20m -run 'RealNode' ./compat/replay

images: ## understudy:local and understudy/kafka:4.0.0 and 4.4.0, from what is on this machine; needs a container engine that runs
	$(GO) run ./internal/need/cmd java javac mvn
	$(GO) run -C compat/kafka/container ./local -build

test-live: ## lies of real controllers, by frames altered in flight, and every fault on the wire of a real quorum; RELEASES='4.4.0 4.0.0 ...' (some 5 min each)
	$(GO) run ./internal/need/cmd java javac mvn
	UNDERSTUDY_LIVE=1 UNDERSTUDY_RELEASES='$(RELEASES)' $(GO) test -count=1 -p 1 -timeout 2h -v -run 'Live' ./compat/e2e

test-kafka: ## real controllers 4.0.0 and 4.4.0; resolves jars by Maven and installs tools with apt when root
	$(GO) run ./internal/need/cmd java javac mvn tshark
	$(GO) test -count=1 -p 1 -timeout 14m -run 'Kafka' ./compat/... ./cmd/... ./recordings/...

test-matrix: ## all raft builds of 4.x and the long runs (<= 40 min)
	$(GO) run ./internal/need/cmd java javac mvn tshark
	UNDERSTUDY_MATRIX=1 $(GO) test -count=1 -p 1 -timeout 39m -run 'Kafka|Matrix' ./compat/... ./proxy/...
	UNDERSTUDY_MATRIX=1 $(GO) test -count=1 -timeout 30m ./wire ./kraft/...
	$(GO) test -count=1 -timeout 30m -skip 'Kafka|Matrix' ./proxy/... ./recordings ./cmd/... ./internal/benchcheck

conform-matrix: ## docs/conformance-matrix.md: the suite with its hostile group and killers on all six builds and our node, three quorums at a time (<= 20 min)
	$(GO) run ./internal/need/cmd java javac mvn
	rm -rf bin/conform-matrix && mkdir -p bin/conform-matrix
	$(GO) test -count=1 -timeout 60m -parallel 3 -run '^TestKafka_Matrix$$' ./compat/conform -reports '$(CURDIR)/bin/conform-matrix'
	$(GO) test -count=1 -run '^TestMatrix' ./compat/conform -matrix '$(CURDIR)/bin/conform-matrix'

oracle: ## random walks beside the real KafkaRaftClient; KAFKA_LIBS=DIR RULES=4.4.0 tells what a local Kafka decides otherwise; BUILD= STEPS= SEED=
	$(GO) run ./internal/need/cmd java javac mvn
	$(GO) run ./compat/oracle/cmd $(if $(KAFKA_LIBS),-kafka-home '$(KAFKA_LIBS)') $(if $(BUILD),-build '$(BUILD)') $(if $(RULES),-rules '$(RULES)') \
		-steps $(or $(STEPS),50000) -seed $(or $(SEED),1)

soak-oracle: ## random walks on all raft builds in turn until each has TOTAL=5000000 equal steps in LEDGER=DIR; goes on where it ended
	$(GO) run ./internal/need/cmd java javac mvn
	$(GO) run ./compat/oracle/cmd -ledger '$(or $(LEDGER),bin/soak-oracle)' -total $(or $(TOTAL),5000000) -chunk $(or $(CHUNK),100000) $(if $(BUILD),-build '$(BUILD)')

oracle-coverage: ## branches of Kafka's raft code that no schedule reaches; BUILD=4.4.0 STEPS=n SEED=n
	$(GO) run ./compat/oracle/unreached -build $(or $(BUILD),4.4.0) -steps $(or $(STEPS),12000) -seed $(or $(SEED),1)

soak-sim: build ## simulate for hours: SEEDS=n FROM=n; a seed that fails is made smaller and told
	bin/understudy sim --seeds $(or $(SEEDS),1000000) --seed $(or $(FROM),100000)

bench-sim: ## simulator events beside three RawNodes of etcd/raft, in one run
	$(GO) test -run '^$$' -bench . -benchtime 2000000x -cpu 1 ./internal/simbench

soak: ## hours: fuzz targets, long random runs; figures go to docs/TESTING.md
	./.ci/soak

bench: bench-proxy bench-check bench-etcd ## the figures of docs/TESTING.md but those of bench-sim, the explorer, the oracle and compat/disk
	$(GO) test -run '^$$' -bench . -benchmem ./kraft/... ./wire/... ./recordings/... ./proxy/...

bench-proxy: build ## forwarding beside a bare io.Copy relay, paired rounds in one run
	$(GO) run ./proxy/bench

bench-check: build ## check beside tshark's full dissection of the same file, and what a frame costs live; nodes of ours fill the recording
	$(GO) run ./internal/need/cmd tshark
	$(GO) run ./internal/benchcheck

bench-etcd: ## the engine beside etcd/raft v3.6.0, paired rounds in one run; a module of its own
	$(GO) run -C internal/etcdbench .

bench-mixed: ## nodes of ours beside Kafka 4.4.0 in one run: start, memory, commit, throughput, failover, catching up with 1 GB (15 minutes); BENCH=name of one
	$(GO) run ./internal/need/cmd java javac mvn
	$(GO) test -run '^$$' -bench 'Mixed_$(BENCH)' -benchtime 1x -timeout 60m ./compat/mixed

lint: ## static checks, pinned
	$(GO) run $(GOLANGCI) run ./...

generate: ## tables generated from Kafka's message definitions
	$(GO) generate ./...

clean: ## what this Makefile made
	rm -rf bin
