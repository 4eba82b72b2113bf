package config

import "github.com/sallyport/sallyport"

// flowKeys are the rules about what a conversation has read before a call.
func flowKeys() []row {
	const flow = personalityKey + ".safety.flow"
	const after = flow + ".after_untrusted"
	return []row{
		{KeyDoc: KeyDoc{flow, TypeMapping, false, true, "the default of its keys", "What becomes of calls after what their session, or another one of the principal, has read.", "{after_untrusted_private: refuse}"}},
		{
			KeyDoc: KeyDoc{flow + ".after_untrusted_private", TypeText, false, true, "approve, and allow for the local user at the command line", "Calls that may carry data out or write outside the workspace, once untrusted content was read, and private data too or by the call itself: `approve` holds them until a person approves, `refuse` refuses them, `allow` lets them pass.", "refuse"},
			words:  []string{string(sallyport.FlowApprove), string(sallyport.FlowRefuse), string(sallyport.FlowAllow)},
			set:    func(s *scope, v value) { s.p.Flow.AfterUntrustedPrivate = sallyport.FlowAction(v.text) },
		},
		{
			KeyDoc: KeyDoc{flow + ".allow", TypeTexts, false, true, "none", "Tools that `after_untrusted_private` is not about: by name, by label as `@file`, by server as `mcp__notes__*`, or `*`.", `["mcp__notes__*"]`},
			check:  (*scope).ruledTool, set: func(s *scope, v value) { s.p.Flow.Allow = v.list },
		},
		{KeyDoc: KeyDoc{after, TypeMapping, false, true, "none", "Tools that are held or refused once untrusted content was read.", "{approve: [terminal]}"}},
		{
			KeyDoc: KeyDoc{after + ".approve", TypeTexts, false, true, "none", "Tools in the same way: each call is held until a person approves.", `[terminal, "@mail"]`},
			check:  (*scope).ruledTool, set: func(s *scope, v value) { s.p.Flow.Approve = v.list },
		},
		{
			KeyDoc: KeyDoc{after + ".refuse", TypeTexts, false, true, "none", "Tools in the same way: each call is refused.", "[email-send]"},
			check:  (*scope).ruledTool, set: func(s *scope, v value) { s.p.Flow.Refuse = v.list },
		},
	}
}
