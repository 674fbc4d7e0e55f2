# Names only: each target is one command, which can be typed as well.

.PHONY: demo test integration bench bench-against fuzz fuzz-model fmt lint ci

demo: # the main job: one pipeline over Parquet and over Kafka, compared
	go run ./examples/adclicks -events 1000000

test: # all tests that need no outside service; the race detector needs a C compiler
	go test -race -timeout 20m ./...

integration: # tests against a real Apache Kafka; needs Java 17 and Maven
	go run ./internal/tools/broker -- go test -race -count=1 -timeout 20m -tags integration ./integration/... ./io/kafka/...

bench: # our code beside hand-written loops, as ratios
	go run ./internal/tools/bench

bench-against: # this tree beside the commit COMMIT, by turns in one run
	go run ./internal/tools/bench -against $(COMMIT)

fuzz: # every fuzz target for FUZZTIME, 30s unless given
	bash .ci/fuzz

fuzz-model: # random pipelines on every runner and in the simulator, for SECONDS
	go test ./internal/modeltest ./runners/local/internal/sim -count=1 -timeout 0 -run TestModel -model.seconds=$(or $(SECONDS),60)

fmt: # formats every Go file
	gofmt -w .

lint: # formatting, go.mod, go vet, staticcheck
	bash .ci/lint

ci: # all that must pass before a change is taken
	bash .ci/run
