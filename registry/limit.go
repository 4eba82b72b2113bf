package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/window"
)

// limitWait bounds how long a limiter may take. A store on this machine waits
// half as long for another process.
const limitWait = 10 * time.Second

// checkRateLimit refuses a limit that no store counts.
func (c *declarationChecker) checkRateLimit(l sallyport.RateLimit) {
	if err := window.Check(l); err != nil {
		for why := range strings.SplitSeq(err.Error(), "\n") {
			c.addFault("", "rateLimit: %s", why)
		}
	}
}

// consumeLimit counts the call against the rate limit of its principal for
// this tool. A call that it refuses consumes none, one that a later step refuses or holds
// does, and one that cannot be counted does not run.
func (c *call) consumeLimit(ctx context.Context) bool {
	l := c.entry.tool.RateLimit
	if l == nil {
		return c.allowStep(sallyport.StepLimit)
	}
	wait, err := c.askLimiter(ctx, *l)
	switch {
	case err != nil:
		return c.refuseUncounted(ctx, err)
	case wait > 0:
		return c.refuseExceeded(*l, wait)
	}
	return c.allowStep(sallyport.StepLimit)
}

// askLimiter asks the limiter how long the call has to wait.
func (c *call) askLimiter(ctx context.Context, l sallyport.RateLimit) (time.Duration, error) {
	if c.r.o.Limiter == nil {
		return 0, errors.New("no limiter is wired")
	}
	ctx, cancel := context.WithTimeout(ctx, limitWait)
	defer cancel()
	wait, err := c.r.o.Limiter.Admit(ctx, limitKey(c.entry.id, c.caller.Principal.Name), l)
	if err == nil && wait < 0 {
		err = fmt.Errorf("the limiter said to wait %v", wait)
	}
	return wait, err
}

// limitKey is the counter of a tool and a principal. The ID of a tool holds
// no slash, so that no two pairs give one key, whatever a principal is called.
func limitKey(tool, principal string) string { return tool + "/" + principal }

func (c *call) refuseExceeded(l sallyport.RateLimit, wait time.Duration) bool {
	// A caller that comes back after this many milliseconds must not be too early.
	retry := wait.Truncate(time.Millisecond)
	if retry < wait {
		retry += time.Millisecond
	}
	rule := limitText(l)
	d := sallyport.Decision{
		Step:   sallyport.StepLimit,
		Why:    fmt.Sprintf("principal %s has used up %s; the next call is admitted in %v", c.caller.Principal.Name, rule, retry),
		Source: c.limitSource(),
		Fix:    fmt.Sprintf("wait %v, or raise rateLimit.requests of %s", retry, c.q.Tool),
	}
	c.refuse(d, sallyport.CodeRateLimited,
		fmt.Sprintf("Rate limit exceeded: %s for %s; try again in %v", rule, c.q.Tool, retry))
	c.result.RetryAfter = retry
	return false
}

func (c *call) refuseUncounted(ctx context.Context, err error) bool {
	if how := endReason(ctx, ctx, 0); how != "" {
		return c.refuse(sallyport.Decision{Step: sallyport.StepLimit, Why: how}, sallyport.CodeExecutionFailed, "The call "+how)
	}
	c.logFault("rate limit not counted", err)
	d := sallyport.Decision{
		Step: sallyport.StepLimit, Source: c.limitSource(),
		Why: "the limiter could not count the call: " + err.Error(),
	}
	return c.refuse(d, sallyport.CodeNotAvailable,
		"Tool "+c.q.Tool+" is not currently available: its rate limit cannot be counted (call "+c.id+")")
}

// limitSource is where the limit stands: its line of the configuration, or the
// tool that code declares.
func (c *call) limitSource() string {
	return cmp.Or(c.entry.tool.Source("rateLimit"), "rateLimit of "+c.q.Tool)
}

// limitText is "100 requests per 1h".
func limitText(l sallyport.RateLimit) string {
	return text.CountOf(l.Requests, "request") + " per " + windowText(l.Window)
}

// windowText is a window in the largest unit of a configuration that fits.
func windowText(w time.Duration) string {
	for _, u := range [...]struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if w >= u.length && w%u.length == 0 {
			return fmt.Sprintf("%d%s", w/u.length, u.name)
		}
	}
	return w.String()
}
