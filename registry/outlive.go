package registry

// enlist says that the call runs. Call r.runs.remove when it has an answer.
func (c *call) enlist() {
	c.entered = c.describeRun(calling)
	c.r.runs.add(&c.entered)
}

// describeRun is something of this call that runs.
func (c *call) describeRun(what string) Run {
	return Run{
		What: what, CallID: c.id, Tool: c.q.Tool, Session: c.session, SessionKey: c.sessionKey, Principal: c.caller.Principal,
		Personality: c.caller.Personality, Platform: c.caller.Platform, Since: c.start,
	}
}
