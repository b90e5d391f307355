// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/utils/clock"
)

// What a barrier that waits may write to its log: nodes that go DOWN and come back all the time would fill a disk. At first, and per hour.
const (
	logAtOnce  = 80_000
	logPerHour = 300_000
	// logLine is how long one text of a line may be; lineRoom is what a line takes beside its texts.
	logLine  = 2_000
	lineRoom = 200
)

// budget is a handler that leaves lines out once they cost more than is allowed, and says in the next one how many were left out. Whoever must be heard
// writes past it.
type budget struct {
	slog.Handler
	*purse
}

type purse struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	left    float64 // bytes
	at      time.Time
	skipped int
}

func newBudget(h slog.Handler, clk clock.PassiveClock) *budget {
	return &budget{Handler: h, purse: &purse{clock: clk, left: logAtOnce, at: clk.Now()}}
}

// Handle implements slog.Handler.
func (b *budget) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, cutText(r.Message), r.PC)
	cost := lineRoom + len(out.Message)
	r.Attrs(func(a slog.Attr) bool {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(cutText(v))
			cost += len(a.Value.String())
		case []string:
			cut := make([]string, len(v))
			for i := range v {
				cut[i] = cutText(v[i])
				cost += len(cut[i])
			}
			a.Value = slog.AnyValue(cut)
		default:
			cost += len(a.Value.String())
		}
		cost += len(a.Key)
		out.AddAttrs(a)
		return true
	})
	skipped, ok := b.pay(cost + cost/8) // quotes and what is escaped
	if !ok {
		return nil
	}
	if skipped > 0 {
		out.AddAttrs(slog.Int("linesLeftOut", skipped))
	}
	return b.Handler.Handle(ctx, out)
}

// pay takes the cost of a line where there is enough for it.
func (p *purse) pay(cost int) (skipped int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.left = min(logAtOnce, p.left+float64(logPerHour)*max(0, now.Sub(p.at).Hours()))
	p.at = now
	if p.left < float64(cost) {
		p.skipped++
		return 0, false
	}
	p.left -= float64(cost)
	skipped, p.skipped = p.skipped, 0
	return skipped, true
}

// WithAttrs implements slog.Handler.
func (b *budget) WithAttrs(a []slog.Attr) slog.Handler {
	return &budget{Handler: b.Handler.WithAttrs(a), purse: b.purse}
}

// WithGroup implements slog.Handler.
func (b *budget) WithGroup(name string) slog.Handler {
	return &budget{Handler: b.Handler.WithGroup(name), purse: b.purse}
}

func cutText(text string) string {
	if len(text) <= logLine {
		return text
	}
	cut := logLine
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
