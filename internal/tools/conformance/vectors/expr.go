package vectors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock/internal/strategy"
)

// An expr is a term in call syntax: Name, Name(arg, name=arg, …) or a number.
type expr struct {
	name string // of a call; empty for a number
	num  int64
	args []arg
}

type arg struct {
	name string
	expr expr
}

const maxDepth = 100

// parseExpr parses the whole of s.
func parseExpr(s string) (expr, error) {
	p := exprParser{s: s}
	e, err := p.expr(0)
	if err == nil && p.peek() != 0 {
		err = p.unexpected("the end")
	}
	if err != nil {
		return expr{}, fmt.Errorf("%q: %w", s, err)
	}
	return e, nil
}

type exprParser struct {
	s string
	i int
}

// peek returns the next character that is no space, or 0 at the end.
func (p *exprParser) peek() byte {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
	if p.i == len(p.s) {
		return 0
	}
	return p.s[p.i]
}

func (p *exprParser) unexpected(want string) error {
	if c := p.peek(); c != 0 {
		return fmt.Errorf("got %q at position %d, want %s", c, p.i, want)
	}
	return fmt.Errorf("it ends where %s should be", want)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (p *exprParser) word() string {
	p.peek()
	from := p.i
	for p.i < len(p.s) && (letter(p.s[p.i]) || digit(p.s[p.i])) {
		p.i++
	}
	return p.s[from:p.i]
}

func (p *exprParser) expr(depth int) (e expr, err error) {
	if depth > maxDepth {
		return e, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch c := p.peek(); {
	case digit(c) || c == '-':
		from := p.i
		for p.i++; p.i < len(p.s) && digit(p.s[p.i]); {
			p.i++
		}
		e.num, err = strconv.ParseInt(p.s[from:p.i], 10, 64)
		return e, err
	case !letter(c):
		return e, p.unexpected("a name or a number")
	}
	e.name = p.word()
	if p.peek() != '(' {
		return e, nil
	}
	p.i++
	for p.peek() != ')' {
		if len(e.args) > 0 {
			if p.peek() != ',' {
				return e, p.unexpected("a comma or a closing parenthesis")
			}
			p.i++
			if p.peek() == ')' { // Python allows a comma at the end
				break
			}
		}
		var a arg
		start := p.i
		if letter(p.peek()) {
			a.name = p.word()
			if p.peek() == '=' {
				p.i++
			} else {
				a.name, p.i = "", start
			}
		}
		if a.expr, err = p.expr(depth + 1); err != nil {
			return e, err
		}
		e.args = append(e.args, a)
	}
	p.i++
	return e, nil
}

// bind assigns the arguments of e to parameters by position or name.
func (e expr) bind(params ...string) (map[string]expr, error) {
	got := map[string]expr{}
	for i, a := range e.args {
		name := a.name
		if name == "" {
			if i >= len(params) {
				return nil, fmt.Errorf("%s takes %d arguments, got %d", e.name, len(params), len(e.args))
			}
			name = params[i]
		}
		known := false
		for _, p := range params {
			known = known || p == name
		}
		if !known {
			return nil, fmt.Errorf("%s has no argument %q", e.name, name)
		}
		if _, twice := got[name]; twice {
			return nil, fmt.Errorf("%s gets argument %q twice", e.name, name)
		}
		got[name] = a.expr
	}
	return got, nil
}

// numbers binds arguments that are all numbers; those from number need on may be absent and are then 0.
func (e expr) numbers(need int, params ...string) ([]int64, error) {
	got, err := e.bind(params...)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(params))
	for i, p := range params {
		x, ok := got[p]
		if !ok && i < need {
			return nil, fmt.Errorf("%s lacks its argument %q", e.name, p)
		}
		if x.name != "" {
			return nil, fmt.Errorf("%s: argument %q must be a number, got %s", e.name, p, x.name)
		}
		out[i] = x.num
	}
	return out, nil
}

var composites = map[string]strategy.TriggerKind{
	"Repeatedly": strategy.OnRepeatedly, "AfterAny": strategy.OnAny, "AfterAll": strategy.OnAll,
	"AfterEach": strategy.OnEach, "OrFinally": strategy.OnOrFinally,
}

var leaves = map[string]strategy.TriggerKind{
	"Default": strategy.OnDefault, "DefaultTrigger": strategy.OnDefault, "Always": strategy.OnAlways, "Never": strategy.OnNever,
	"AfterSynchronizedProcessingTime": strategy.OnSynchronizedTime,
}

// trigger makes a trigger of e. Times are in units of unit ms.
func (e expr) trigger(unit int64) (*strategy.Trigger, error) {
	if kind, ok := leaves[e.name]; ok {
		if len(e.args) > 0 {
			return nil, fmt.Errorf("%s takes no argument", e.name)
		}
		return &strategy.Trigger{Kind: kind}, nil
	}
	if kind, ok := composites[e.name]; ok {
		return e.composite(kind, unit)
	}
	switch e.name {
	case "AfterCount":
		n, err := e.numbers(1, "count")
		if err != nil {
			return nil, err
		}
		return &strategy.Trigger{Kind: strategy.OnCount, N: n[0]}, nil
	case "AfterProcessingTime":
		n, err := e.numbers(0, "delay")
		if err != nil {
			return nil, err
		}
		d, err := scale(n[0], unit)
		return &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: d}, err
	case "AfterWatermark":
		got, err := e.bind("early", "late")
		if err != nil {
			return nil, err
		}
		t := &strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{nil, nil}}
		for i, name := range []string{"early", "late"} {
			if sub, ok := got[name]; ok && sub.name != "None" {
				if t.Subs[i], err = sub.trigger(unit); err != nil {
					return nil, err
				}
			}
		}
		return t, nil
	case "":
		return nil, fmt.Errorf("want a trigger, got the number %d", e.num)
	}
	return nil, fmt.Errorf("unknown trigger %s", e.name)
}

func (e expr) composite(kind strategy.TriggerKind, unit int64) (*strategy.Trigger, error) {
	t := &strategy.Trigger{Kind: kind}
	for _, a := range e.args {
		sub, err := a.expr.trigger(unit)
		if err != nil {
			return nil, err
		}
		t.Subs = append(t.Subs, sub)
	}
	want := 1
	if kind == strategy.OnOrFinally {
		want = 2
	}
	if exact := kind == strategy.OnRepeatedly || want == 2; len(t.Subs) < want || exact && len(t.Subs) > want {
		return nil, fmt.Errorf("%s takes %d triggers, got %d", e.name, want, len(t.Subs))
	}
	return t, nil
}

// windowFn makes a window function of e. Times are in units of unit ms.
func (e expr) windowFn(unit int64) (strategy.WindowFn, error) {
	var n []int64
	var err error
	var kind string
	switch e.name {
	case "FixedWindows", "CustomTimestampingFixedWindowsWindowFn":
		kind = "fixed"
		n, err = e.numbers(1, "size", "offset")
	case "SlidingWindows":
		kind = "sliding"
		n, err = e.numbers(2, "size", "period", "offset")
	case "Sessions":
		kind = "sessions"
		n, err = e.numbers(1, "gap_size")
	case "GlobalWindows":
		kind = "global"
		n, err = e.numbers(0)
	default:
		return nil, fmt.Errorf("unknown window function %q", e.name)
	}
	if err != nil {
		return nil, err
	}
	for i := range n {
		if n[i], err = scale(n[i], unit); err != nil {
			return nil, err
		}
	}
	n = append(n, 0, 0, 0)
	if kind == "sliding" {
		return newWindowFn(kind, n[0], n[1], n[2], 0)
	}
	return newWindowFn(kind, n[0], 0, n[1], n[0])
}

// newWindowFn checks the parameters of a window function. An offset may be any
// number; it counts modulo size or period.
func newWindowFn(kind string, size, period, offset, gap int64) (strategy.WindowFn, error) {
	mod := func(n int64) int64 { return (offset%n + n) % n }
	const most = 1 << 50
	switch {
	case size > most || period > most || gap > most:
		return nil, fmt.Errorf("%s windows: a length of more than %d ms", kind, int64(most))
	case kind == "global":
		return strategy.GlobalWindows{}, nil
	case kind == "fixed" && size > 0:
		return strategy.FixedWindows{Size: size, Offset: mod(size)}, nil
	case kind == "sliding" && size > 0 && period > 0:
		return strategy.SlidingWindows{Size: size, Period: period, Offset: mod(period)}, nil
	case kind == "sessions" && gap > 0:
		return strategy.SessionWindows{Gap: gap}, nil
	case kind == "fixed" || kind == "sliding" || kind == "sessions":
		return nil, fmt.Errorf("%s windows need a positive size, period and gap, got %d, %d, %d", kind, size, period, gap)
	}
	return nil, fmt.Errorf("unknown kind of window %q", kind)
}
