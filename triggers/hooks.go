package triggers

// This file turns triggers into what the engine executes. Compile names an
// internal type, so that other modules cannot use it by accident.

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock/internal/strategy"
)

// Compile returns the trigger as the engine knows it, or what is wrong with it.
func Compile(t Trigger) (*strategy.Trigger, error) {
	if t == nil {
		return nil, fmt.Errorf("the trigger is nil; leave it out, or name one")
	}
	b := &builder{}
	n := t.node(b)
	if b.err == nil {
		b.err = n.Check()
	}
	if b.err != nil {
		return nil, b.err
	}
	return n, nil
}

// A builder keeps the first thing that is wrong with a trigger expression.
type builder struct{ err error }

func (b *builder) errorf(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// sub is the node of t, or nil if t is nil.
func (b *builder) sub(t Trigger) *strategy.Trigger {
	if t == nil {
		return nil
	}
	return t.node(b)
}

func (b *builder) list(kind strategy.TriggerKind, ts ...Trigger) *strategy.Trigger {
	n := &strategy.Trigger{Kind: kind, Subs: make([]*strategy.Trigger, len(ts))}
	for i, t := range ts {
		n.Subs[i] = b.sub(t)
	}
	return n
}

// ms is d in milliseconds, of which it must have a whole number.
func (b *builder) ms(what string, d time.Duration) int64 {
	if d%time.Millisecond != 0 {
		b.errorf("AfterProcessingTime: %s %v is not a whole number of milliseconds, the resolution of time", what, d)
	}
	return d.Milliseconds()
}

func (Default) node(*builder) *strategy.Trigger {
	return &strategy.Trigger{Kind: strategy.OnDefault}
}
func (Always) node(*builder) *strategy.Trigger { return &strategy.Trigger{Kind: strategy.OnAlways} }
func (Never) node(*builder) *strategy.Trigger  { return &strategy.Trigger{Kind: strategy.OnNever} }

func (t AfterCount) node(*builder) *strategy.Trigger {
	return &strategy.Trigger{Kind: strategy.OnCount, N: int64(t)}
}

func (t AfterProcessingTime) node(b *builder) *strategy.Trigger {
	return &strategy.Trigger{Kind: strategy.OnProcessingTime, Delay: b.ms("delay", time.Duration(t))}
}

func (t AfterAlignedTime) node(b *builder) *strategy.Trigger {
	n := &strategy.Trigger{Kind: strategy.OnProcessingTime,
		Delay: b.ms("delay", t.Delay), AlignPeriod: b.ms("period", t.Period), AlignOffset: b.ms("offset", t.Offset)}
	if n.AlignPeriod <= 0 {
		b.errorf("AfterProcessingTime: the period %v that it is aligned to must be positive", t.Period)
		return n
	}
	n.AlignOffset = (n.AlignOffset%n.AlignPeriod + n.AlignPeriod) % n.AlignPeriod
	return n
}

func (t AfterWatermark) node(b *builder) *strategy.Trigger {
	return b.list(strategy.OnWatermark, t.Early, t.Late)
}

func (t Repeatedly) node(b *builder) *strategy.Trigger { return b.list(strategy.OnRepeatedly, t.T) }
func (t AfterAny) node(b *builder) *strategy.Trigger   { return b.list(strategy.OnAny, t...) }
func (t AfterAll) node(b *builder) *strategy.Trigger   { return b.list(strategy.OnAll, t...) }
func (t AfterEach) node(b *builder) *strategy.Trigger  { return b.list(strategy.OnEach, t...) }

func (t OrFinally) node(b *builder) *strategy.Trigger {
	return b.list(strategy.OnOrFinally, t.Main, t.Until)
}
