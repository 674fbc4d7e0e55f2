package transforms_test

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/pcoll"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/triggers"
	"github.com/penstock-dev/penstock/windowing"
)

// endless is an unbounded source that never gives anything.
type endless[T any] struct{}

func (endless[T]) Progress() connector.Progress                      { return connector.Progress{} }
func (endless[T]) Splits(context.Context) ([]connector.Split, error) { return nil, nil }
func (endless[T]) Open(context.Context, connector.Env, connector.Split, connector.Position) (connector.Reader[T], error) {
	return nil, nil
}

func unbounded[T any](p *pcoll.Pipeline) pcoll.PCollection[T] {
	return connector.Read(p, "endless", endless[T]{})
}

type (
	pair    = pcoll.KV[string, int]
	account struct {
		Name    string
		balance int
	}
	shelf struct {
		Books map[string]func()
	}
)

// opaque has an accumulator that cannot be encoded.
type opaque struct{}

func (opaque) Create() func()             { return nil }
func (opaque) Add(f func(), _ int) func() { return f }
func (opaque) Merge(f, _ func()) func()   { return f }
func (opaque) Extract(func()) int         { return 0 }

var (
	sum   = combine.Sum[int]()
	sixty = windowing.Fixed(time.Minute)
)

// idle is a DoFn; the others have lifecycle methods of a wrong type, or fields that cannot be bound.
type idle struct{ Limit int }

func (*idle) Process(*pcoll.Context, int, pcoll.Emit[int]) error { return nil }

type odd struct{ idle }

func (*odd) Setup() error                                          { return nil }
func (*odd) FinishBundle(*pcoll.Context, pcoll.Emit[string]) error { return nil }

type hidden struct {
	idle
	late Output[int]
}

type pointed struct {
	idle
	Late *Output[int]
}

type base struct{ Late Output[int] }

type shared struct {
	idle
	*base
}

type byValue struct{ Late Output[int] }

func (byValue) Process(*pcoll.Context, int, pcoll.Emit[int]) error { return nil }

var _, _ = hidden{}.late, account{}.balance

func TestMistakes(t *testing.T) {
	into := func(in pcoll.PCollection[pair], trigger triggers.Trigger, opts ...pcoll.Option) pcoll.PCollection[pair] {
		return windowing.Into(in, sixty, append(opts, windowing.Trigger(trigger), windowing.AllowedLateness(time.Hour), windowing.Discarding())...)
	}
	for _, c := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
		want  string
	}{
		// Functions.
		{"Map", func(p *pcoll.Pipeline) { Map[int, int](Create(p, 1), nil) }, "Map: the function is nil; give the one that is to be applied"},
		{"Filter", func(p *pcoll.Pipeline) { Filter(Create(p, 1), nil) }, "Filter: the function is nil"},
		{"FlatMap", func(p *pcoll.Pipeline) { FlatMap[int, int](Create(p, 1), nil) }, "FlatMap: the function is nil"},
		{"KeyBy", func(p *pcoll.Pipeline) { KeyBy[int](Create(p, 1), nil) }, "KeyBy: the function is nil"},
		{"MapValues", func(p *pcoll.Pipeline) { MapValues[string, int, int](Create(p, pair{}), nil) }, "MapValues: the function is nil"},
		{"TryMap", func(p *pcoll.Pipeline) { TryMap[int, int](Create(p, 1), nil) }, "TryMap: the function is nil"},
		{"Partition", func(p *pcoll.Pipeline) { Partition(Create(p, 1), nil) }, "Partition: the function is nil"},
		{"PartitionBy", func(p *pcoll.Pipeline) { PartitionBy(Create(p, 1), 3, nil) }, "PartitionBy: the function is nil"},
		{"no partitions", func(p *pcoll.Pipeline) { PartitionBy(Create(p, 1), 0, func(int) int { return 0 }) },
			"0 partitions hold nothing; want at least 1"},
		{"WithTimestamps", func(p *pcoll.Pipeline) { WithTimestamps(Create(p, 1), nil) }, "WithTimestamps: the function is nil"},
		{"SequenceTime", func(p *pcoll.Pipeline) { GenerateSequence(p, 0, 3, SequenceTime(nil)) }, "GenerateSequence: the function is nil"},
		{"negative sequence", func(p *pcoll.Pipeline) { GenerateSequence(p, 3, 0) }, "the sequence from 3 to 0 is negative; want an end of at least 3"},
		{"huge sequence", func(p *pcoll.Pipeline) { GenerateSequence(p, -1<<63, 1<<62) }, "is longer than 2^63-1"},

		// Options and names.
		{"option of another", func(p *pcoll.Pipeline) { Map(Create(p, 1), double, AllowedSkew(time.Second)) },
			"option AllowedSkew does not apply to Map; remove it"},
		{"windowing option", func(p *pcoll.Pipeline) { GroupByKey(Create(p, pair{}), windowing.Accumulating()) },
			"option Accumulating does not apply to GroupByKey"},
		{"NoDefault", func(p *pcoll.Pipeline) { CombinePerKey(Create(p, pair{}), sum, NoDefault()) },
			"option NoDefault does not apply to CombinePerKey"},
		{"skew", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), &idle{}, AllowedSkew(-time.Second)) }, "allowed skew -1s cannot be"},
		{"fine skew", func(p *pcoll.Pipeline) { WithTimestamps(Create(p, 1), at, AllowedSkew(time.Microsecond)) }, "allowed skew 1µs cannot be"},
		{"name twice", func(p *pcoll.Pipeline) {
			Map(Create(p, 1), double, pcoll.Named("x"))
			Count(Create(p, 1), pcoll.Named("x"))
		}, `name "x" is already used`},
		{"two pipelines", func(p *pcoll.Pipeline) { Flatten(Create(p, 1), Create(pcoll.New("other"), 2)) }, `an input belongs to pipeline "other"`},

		// DoFns.
		{"nil DoFn", func(p *pcoll.Pipeline) { ParDo[int, int](Create(p, 1), nil) }, "the DoFn is nil; give a pointer to a struct"},
		{"nil pointer", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), (*idle)(nil)) },
			"the DoFn is a nil *transforms_test.idle; give a pointer to a value, &transforms_test.idle{…}"},
		{"twice", func(p *pcoll.Pipeline) {
			fn := &idle{}
			ParDo(Create(p, 1), fn, pcoll.Named("first"))
			ParDo(Create(p, 1), fn, pcoll.Named("second"))
		}, "second: this *transforms_test.idle is already used by first (check_test.go:"},
		{"odd Setup", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), &odd{}) },
			"*transforms_test.odd.Setup is a func() error, which is not called; want Setup(*pcoll.Context) error"},
		{"odd FinishBundle", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), &odd{}) },
			"which is not called; want FinishBundle(*pcoll.Context, pcoll.Emit[int]) error"},
		{"hidden output", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), &hidden{}) },
			"transforms_test.hidden.late is an output and must be exported"},
		{"pointer to output", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), &pointed{}) },
			"transforms_test.pointed.Late is a *transforms.Output[int]; make the field a transforms.Output[int], not a pointer"},
		{"shared output", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), &shared{base: &base{}}) },
			"transforms_test.shared.Late is an output behind an embedded pointer, which workers would share"},
		{"output by value", func(p *pcoll.Pipeline) { ParDo(Create(p, 1), byValue{}) },
			"transforms_test.byValue.Late is an output, which cannot be bound in a copy; give ParDo a pointer, &transforms_test.byValue{…}"},

		// Keys, values, accumulators.
		{"float key", func(p *pcoll.Pipeline) { CountPerElement(Create(p, 1.5)) },
			"cannot use as a key float64: float64 has no canonical encoding"},
		{"interface in key", func(p *pcoll.Pipeline) { CountPerElement(Create(p, struct{ V any }{})) }, "interface"},
		{"unexported field", func(p *pcoll.Pipeline) { GroupByKey(KeyBy(Create(p, account{}), func(account) int { return 0 })) }, "balance"},
		{"value", func(p *pcoll.Pipeline) {
			CombinePerKey(KeyBy(Create(p, shelf{}), func(shelf) int { return 0 }), combine.Count[shelf]())
		},
			"cannot encode shelf.Books[value]"},
		{"accumulator", func(p *pcoll.Pipeline) { CombinePerKey(Create(p, pair{}), opaque{}) }, "cannot encode func()"},
		{"reshuffle", func(p *pcoll.Pipeline) { Reshuffle(Create(p, shelf{})) }, "Reshuffle: coders: cannot encode shelf.Books[value]"},
		{"nil combiner", func(p *pcoll.Pipeline) { Combine[int, int, int](Create(p, 1), nil) }, "Combine: the combiner is nil"},
		{"top of none", func(p *pcoll.Pipeline) { TopPerKey(Create(p, pair{}), 0, cmp.Compare[int]) }, "combine.Top(0) keeps nothing"},

		// Windows and triggers at groupings.
		{"unbounded, global", func(p *pcoll.Pipeline) { GroupByKey(unbounded[pair](p)) },
			"unbounded input in the global window, which no watermark ever ends, would never give a result; apply windowing.Into"},
		{"unbounded, global, at its end", func(p *pcoll.Pipeline) {
			Sum(windowing.Into(unbounded[int](p), windowing.Global(), windowing.Trigger(triggers.AfterWatermark{Late: triggers.Always{}}), windowing.Discarding()))
		}, "trigger is AfterWatermark(late=Always)"},
		{"unbounded, global, never", func(p *pcoll.Pipeline) {
			Sum(windowing.Into(unbounded[int](p), windowing.Global(), windowing.Trigger(triggers.Never{})))
		}, "would never give a result; apply windowing.Into with windows such as windowing.Fixed(time.Minute), or with a trigger that fires early; trigger is Never"},
		{"unsafe trigger", func(p *pcoll.Pipeline) { SumPerKey(into(unbounded[pair](p), triggers.AfterCount(2))) },
			"trigger AfterCount(2) may finish, and its window drops what comes after that; wrap it in triggers.Repeatedly"},
		{"no late trigger", func(p *pcoll.Pipeline) { GroupByKey(into(Create(p, pair{}), triggers.AfterWatermark{})) },
			"trigger AfterWatermark may finish"},

		// Flatten.
		{"windows differ", func(p *pcoll.Pipeline) { Flatten(Create(p, 1), windowing.Into(Create(p, 1), sixty)) },
			"input 1 cannot be joined with input 0: windows fixed(1m0s) and global differ; apply windowing.Into"},
		{"triggers differ", func(p *pcoll.Pipeline) {
			Flatten(into(Create(p, pair{}), triggers.Always{}), into(Create(p, pair{}), triggers.Never{}))
		}, "triggers Never and Always differ"},
		{"modes differ", func(p *pcoll.Pipeline) {
			Flatten(windowing.Into(Create(p, 1), sixty), windowing.Into(Create(p, 1), sixty, windowing.Accumulating()))
		}, "modes accumulating and discarding differ"},
		{"stamps differ", func(p *pcoll.Pipeline) {
			Flatten(windowing.Into(Create(p, 1), sixty), windowing.Into(Create(p, 1), sixty, windowing.StampedLatest()))
		}, "results are stamped LATEST and END_OF_WINDOW"},
		{"closing differs", func(p *pcoll.Pipeline) {
			Flatten(windowing.Into(Create(p, 1), sixty), windowing.Into(Create(p, 1), sixty, windowing.ClosingAlways()))
		}, "empty panes are treated differently"},
		{"merged and not", func(p *pcoll.Pipeline) {
			s := windowing.Into(Create(p, pair{}), windowing.Sessions(time.Second))
			Flatten(SumPerKey(s), s)
		}, "the sessions(1s) of one were merged by a grouping, those of the other were not"},
	} {
		p := pcoll.New("test")
		c.build(p)
		err := p.Err()
		switch {
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		case !strings.Contains(err.Error(), "check_test.go:"):
			t.Errorf("%s: the error does not name this file: %v", c.name, err)
		case c.name[:3] != "odd" && strings.Count(err.Error(), "check_test.go:") > 1+strings.Count(err.Error(), "already used"):
			t.Errorf("%s: one mistake is reported more than once: %v", c.name, err)
		}
	}
}

func double(n int) int           { return 2 * n }
func at(n int) time.Time         { return time.UnixMilli(int64(n)) }
func inBase(n int) iter.Seq[int] { return slices.Values([]int{n, n}) }

// TestAccepted holds what is close to a mistake and is none.
func TestAccepted(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(p *pcoll.Pipeline)
	}{
		{"unsafe trigger by consent", func(p *pcoll.Pipeline) {
			SumPerKey(windowing.Into(unbounded[pair](p), sixty, windowing.Trigger(triggers.AfterCount(2)), windowing.AllowedLateness(0),
				windowing.Discarding(), windowing.AllowUnsafeTrigger()))
		}},
		{"what a grouping continues is safe", func(p *pcoll.Pipeline) {
			first := SumPerKey(windowing.Into(unbounded[pair](p), sixty, windowing.Trigger(triggers.AfterCount(2)), windowing.AllowedLateness(0),
				windowing.Discarding(), windowing.AllowUnsafeTrigger()))
			SumPerKey(first)
		}},
		{"bounded, global", func(p *pcoll.Pipeline) { GroupByKey(Create(p, pair{})) }},
		{"unbounded, global, early", func(p *pcoll.Pipeline) {
			GroupByKey(windowing.Into(unbounded[pair](p), windowing.Global(), windowing.Trigger(triggers.Repeatedly{T: triggers.AfterCount(2)}),
				windowing.Discarding()))
		}},
		{"watermark trigger without lateness", func(p *pcoll.Pipeline) {
			GroupByKey(windowing.Into(Create(p, pair{}), sixty, windowing.Trigger(triggers.AfterWatermark{}), windowing.AllowedLateness(0)))
		}},
		{"counting what cannot be encoded", func(p *pcoll.Pipeline) {
			Count(Create(p, shelf{}))
			CountPerKey(KeyBy(Create(p, shelf{}), func(shelf) int { return 0 }))
		}},
		{"sessions of several gaps", func(p *pcoll.Pipeline) {
			SumPerKey(Flatten(windowing.Into(Create(p, pair{}), windowing.Sessions(time.Second)),
				windowing.Into(Create(p, pair{}), windowing.Sessions(time.Minute))))
		}},
		{"a DoFn without fields, twice", func(p *pcoll.Pipeline) {
			ParDo(Create(p, 1), &empty{})
			ParDo(Create(p, 1), empty{})
		}},
	} {
		p := pcoll.New("test")
		c.build(p)
		if err := p.Err(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

type empty struct{}

func (empty) Process(*pcoll.Context, int, pcoll.Emit[int]) error { return nil }

// TestStrategies covers what collections are like behind transforms.
func TestStrategies(t *testing.T) {
	p := pcoll.New("test")
	early := triggers.AfterWatermark{Early: triggers.AfterCount(5), Late: triggers.AfterCount(1)}
	windowed := windowing.Into(unbounded[pair](p), windowing.Sessions(time.Minute),
		windowing.Trigger(early), windowing.AllowedLateness(time.Hour), windowing.Accumulating())
	groups, late := GroupByKeyWithLate(windowed)
	sums, rest := CombineWithLate(Values(windowed), sum)
	longer := windowing.Into(windowed, windowing.Same(), windowing.AllowedLateness(2*time.Hour))
	fixed := windowing.Into(Create(p, 1), sixty)
	for _, c := range []struct {
		name      string
		got, want string
	}{
		{"grouped", pcoll.Col(groups).Strategy.String(), "sessions(1m0s) merged firing AfterWatermark(early=AfterCount(1), late=AfterCount(1)), " +
			"accumulating, lateness 1h0m0s"},
		{"late", behind(pcoll.Col(late).String()), "pcoll.KV[string,int] unbounded"},
		{"combined", pcoll.Col(sums).Strategy.String(), pcoll.Col(groups).Strategy.String()},
		{"late of combined", behind(pcoll.Col(rest).String()), "int unbounded"},
		{"flattened", pcoll.Col(Flatten(windowed, longer)).Strategy.String(), pcoll.Col(longer).Strategy.String()},
		{"flattened pending", behind(pcoll.Col(Flatten(fixed, fixed)).String()), "int in fixed(1m0s) (pending)"},
		{"flattened with one assigned", behind(pcoll.Col(Flatten(fixed, ParDo(fixed, &idle{}))).String()), "int in fixed(1m0s)"},
		{"mapped", behind(pcoll.Col(Map(fixed, double)).String()), "int in fixed(1m0s) (pending)"},
		{"flat mapped", behind(pcoll.Col(FlatMap(fixed, inBase)).String()), "int in fixed(1m0s) (pending)"},
		{"processed", behind(pcoll.Col(ParDo(fixed, &idle{})).String()), "int in fixed(1m0s)"},
		{"stamped", behind(pcoll.Col(WithTimestamps(fixed, at)).String()), "int in fixed(1m0s)"},
		{"reshuffled", behind(pcoll.Col(Reshuffle(fixed)).String()), "int in fixed(1m0s) (pending)"},
		{"bounded with unbounded", behind(pcoll.Col(Flatten(Create(p, 1), unbounded[int](p))).String()), "int unbounded"},
		{"nothing flattened", behind(pcoll.Col(FlattenAll[int](p, nil)).String()), "int"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

// behind drops the number of a collection, c12:.
func behind(col string) string { return col[strings.IndexByte(col, ':')+1:] }

// TestGraph is the golden form of transforms that are made of several nodes.
func TestGraph(t *testing.T) {
	p := pcoll.New("test")
	in := windowing.Into(Create(p, "a"), windowing.Sliding(time.Hour, time.Minute), pcoll.Named("Hours"))
	CountPerElement(in, pcoll.Named("Words"))
	Count(in)
	Reshuffle(in)
	fn := &routes{}
	ParDo(in, fn)
	CombineWithLate(in, combine.Count[string](), pcoll.Named("All"))
	Sum(Create(p, 1), NoDefault())
	Sum(fn.Long.Collection())
	want := `Create -> c0:string
Hours c0 -> c1:string in sliding(1h0m0s every 1m0s) (pending)
Words/Keys c1 -> c2:pcoll.KV[string,struct {}] in sliding(1h0m0s every 1m0s) (pending)
Words c2(keyed) -> c3:pcoll.KV[string,int64] in sliding(1h0m0s every 1m0s)
Count/Mark c1 -> c4:pcoll.KV[struct {},struct {}] in sliding(1h0m0s every 1m0s) (pending)
Count c4(keyed) -> c5:pcoll.KV[struct {},int64] in sliding(1h0m0s every 1m0s)
Count/Values c5 -> c6:int64 in sliding(1h0m0s every 1m0s)
Reshuffle/Hash c1 -> c7:transforms.hashed[string] in sliding(1h0m0s every 1m0s) (pending)
Reshuffle c7(keyed) -> c8:string in sliding(1h0m0s every 1m0s) (pending)
ParDo/AssignWindows c1 -> c9:string in sliding(1h0m0s every 1m0s)
ParDo c9 -> c10:int in sliding(1h0m0s every 1m0s), c11:int in sliding(1h0m0s every 1m0s)
All/KeyBy c1 -> c12:pcoll.KV[struct {},string] in sliding(1h0m0s every 1m0s) (pending)
All c12(keyed) -> c13:pcoll.KV[struct {},int64] in sliding(1h0m0s every 1m0s), c14:pcoll.KV[struct {},string]
All/Values c13 -> c15:int64 in sliding(1h0m0s every 1m0s)
All/Late c14 -> c16:string
Create-2 -> c17:int
Sum/KeyBy c17 -> c18:pcoll.KV[struct {},int]
Sum c18(keyed) -> c19:pcoll.KV[struct {},int]
Sum/Values c19 -> c20:int
Sum-2/KeyBy c11 -> c21:pcoll.KV[struct {},int] in sliding(1h0m0s every 1m0s)
Sum-2 c21(keyed) -> c22:pcoll.KV[struct {},int] in sliding(1h0m0s every 1m0s)
Sum-2/Values c22 -> c23:int in sliding(1h0m0s every 1m0s)
`
	if got := p.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

// routes sends lengths to one of two outputs.
type routes struct{ Long Output[int] }

var _ DoFn[string, int] = (*routes)(nil)

func (r *routes) Process(c *pcoll.Context, s string, emit pcoll.Emit[int]) error {
	if len(s) > 3 {
		r.Long.Emit(c, len(s))
		return nil
	}
	emit(c, len(s))
	return nil
}

// TestGroupingNodes covers what planners and translators find on a grouping.
func TestGroupingNodes(t *testing.T) {
	p := pcoll.New("test")
	GroupByKey(Create(p, pair{}), pcoll.Named("g"))
	SumPerKey(Create(p, pair{}), pcoll.Named("s"))
	for _, n := range pcoll.Graph(p).Nodes {
		if n.Name != "g" && n.Name != "s" {
			continue
		}
		key := n.KeyCoder.(*coders.Key[string])
		route := n.Inputs[0].Route.(func(pair) uint64)
		if !n.Named || n.Strategy == nil || n.AccCoder == nil || route(pair{Key: "x"}) != key.Hash("x") {
			t.Errorf("%s: %+v", n.Name, n)
		}
		if _, ok := n.AccCoder.(coders.Coder[int]); ok != (n.Name == "s") {
			t.Errorf("%s has an accumulator coder %T", n.Name, n.AccCoder)
		}
	}
}

func TestZeroCollectionPanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "Map applied to a zero PCollection") {
			t.Errorf("got %v", r)
		}
	}()
	Map(pcoll.PCollection[int]{}, double)
}
