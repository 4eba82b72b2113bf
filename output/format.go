package output

import "strings"

// alphabet is a set of characters that tokens are made of.
type alphabet uint8

const (
	alnum alphabet = iota
	// wordy adds the underscore, dashed the dash as well.
	wordy
	dashed
	// padded is base64 with either alphabet and padding.
	padded
	// dotted is dashed and the dot.
	dotted
	hexadecimal
	digits
	// capitals is upper case and digits.
	capitals
)

func (a alphabet) contains(b byte) bool {
	switch a {
	case wordy:
		return isWord(b)
	case dashed:
		return isWord(b) || b == '-'
	case padded:
		return isBase64(b) || b == '='
	case dotted:
		return isWord(b) || b == '-' || b == '.'
	case hexadecimal:
		return hexValue(b) < 16
	case digits:
		return isDigit(b)
	case capitals:
		return isUpper(b) || isDigit(b)
	default:
		return isAlnum(b)
	}
}

// skipRun returns the index of the first byte from i on that is not in the
// alphabet.
func (a alphabet) skipRun(s string, i int) int {
	for i < len(s) && a.contains(s[i]) {
		i++
	}
	return i
}

// tokenFormat is a kind of token that its prefix gives away.
type tokenFormat struct {
	*tokenKind
	prefix, marker string
}

// tokenKind is what tokens with different prefixes have in common.
type tokenKind struct {
	kind string
	body alphabet
	// least is the smallest body; exact says that no body is longer.
	least int
	exact bool
	// rest is the alphabet of what may follow the body; it is taken too.
	rest     alphabet
	prefixes []string
}

// tokenKinds is taken from what the issuers publish and from the rules of
// gitleaks (config/gitleaks.toml) and GitHub's secret scanning. A row whose
// prefix is also an English beginning asks for a body that no word has.
var tokenKinds = [...]tokenKind{
	{"openai-key", alnum, 20, false, dashed, []string{"sk-"}},
	{"openai-key", dashed, 20, false, dashed, []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"}},
	{"anthropic-key", dashed, 20, false, dashed, []string{"sk-ant-"}},
	{"openrouter-key", dashed, 20, false, dashed, []string{"sk-or-"}},
	{"langfuse-key", dashed, 20, false, dashed, []string{"sk-lf-"}},
	{"stripe-key", alnum, 16, false, wordy, []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}},
	{"stripe-webhook-secret", padded, 24, false, padded, []string{"whsec_"}},
	{"github-token", alnum, 30, false, wordy, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}},
	{"github-token", wordy, 36, false, wordy, []string{"github_pat_"}},
	{"gitlab-token", dashed, 20, false, dotted, []string{
		"glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-", "glimt-", "glft-", "glagent-", "gloas-",
		"glffct-",
	}},
	{"gitlab-token", dashed, 20, false, dashed, []string{"GR1348941"}},
	{"aws-access-key", capitals, 16, true, capitals, []string{"AKIA", "ASIA", "ABIA", "ACCA"}},
	{"google-api-key", dashed, 35, true, dashed, []string{"AIza"}},
	{"google-oauth-secret", dashed, 24, false, dashed, []string{"GOCSPX-"}},
	{"google-oauth-token", dashed, 20, false, dotted, []string{"ya29."}},
	{"google-oauth-token", dashed, 40, false, dashed, []string{"1//0"}},
	{"slack-token", dashed, 16, false, dashed, []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxc-"}},
	{"slack-token", dashed, 16, false, padded, []string{"xoxd-"}},
	{"slack-token", dotted, 16, false, dotted, []string{"xoxe."}},
	{"slack-token", dashed, 16, false, dashed, []string{"xoxe-", "xapp-"}},
	{"slack-webhook", padded, 30, false, padded, []string{"hooks.slack.com/services/"}},
	{"discord-webhook", padded, 40, false, padded, []string{
		"discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
	}},
	{"telegram-token", dashed, 33, true, dashed, []string{":AA"}},
	{"huggingface-token", alnum, 30, false, wordy, []string{"hf_", "api_org_"}},
	{"vault-token", dashed, 24, false, dashed, []string{"hvs.", "hvb.", "hvr."}},
	{"groq-key", alnum, 40, false, wordy, []string{"gsk_"}},
	{"xai-key", alnum, 40, false, dashed, []string{"xai-"}},
	{"perplexity-key", alnum, 32, false, dashed, []string{"pplx-"}},
	{"nvidia-key", dashed, 40, false, dashed, []string{"nvapi-"}},
	{"replicate-token", alnum, 36, false, wordy, []string{"r8_"}},
	{"tavily-key", dashed, 24, false, dashed, []string{"tvly-"}},
	{"cerebras-key", alnum, 32, false, dashed, []string{"csk-"}},
	{"langsmith-key", wordy, 32, false, wordy, []string{"lsv2_pt_", "lsv2_sk_"}},
	{"e2b-key", hexadecimal, 32, false, alnum, []string{"e2b_"}},
	{"supabase-key", hexadecimal, 40, false, alnum, []string{"sbp_"}},
	{"supabase-key", dashed, 20, false, dashed, []string{"sb_secret_"}},
	{"npm-token", alnum, 36, false, alnum, []string{"npm_"}},
	{"pypi-token", dashed, 50, false, dashed, []string{"pypi-"}},
	{"rubygems-key", hexadecimal, 48, false, alnum, []string{"rubygems_"}},
	{"clojars-token", alnum, 60, false, alnum, []string{"CLOJARS_"}},
	{"digitalocean-token", hexadecimal, 64, false, alnum, []string{"dop_v1_", "doo_v1_", "dor_v1_"}},
	{"shopify-token", hexadecimal, 32, false, alnum, []string{"shpat_", "shpca_", "shppa_", "shpss_"}},
	{"sendgrid-key", dotted, 60, false, dotted, []string{"SG."}},
	{"mailgun-key", hexadecimal, 32, true, alnum, []string{"key-"}},
	{"mailchimp-key", digits, 1, false, digits, []string{"-us"}},
	{"twilio-key", hexadecimal, 32, true, alnum, []string{"SK"}},
	{"databricks-token", hexadecimal, 32, true, dashed, []string{"dapi"}},
	{"linear-key", alnum, 32, false, alnum, []string{"lin_api_"}},
	{"notion-token", alnum, 43, true, alnum, []string{"secret_"}},
	{"notion-token", alnum, 40, false, alnum, []string{"ntn_"}},
	{"figma-token", dashed, 32, false, dashed, []string{"figd_"}},
	{"postman-key", hexadecimal, 24, false, dashed, []string{"PMAK-"}},
	{"newrelic-key", alnum, 27, false, alnum, []string{"NRAK-"}},
	{"grafana-token", alnum, 32, false, wordy, []string{"glsa_"}},
	{"grafana-token", padded, 32, false, padded, []string{"glc_"}},
	{"doppler-token", alnum, 40, false, alnum, []string{"dp.pt."}},
	{"doppler-token", dotted, 40, false, dotted, []string{"dp.st."}},
	{"pulumi-token", hexadecimal, 40, false, alnum, []string{"pul-"}},
	{"square-token", dashed, 22, false, dashed, []string{"sq0atp-"}},
	{"square-token", dashed, 40, false, dashed, []string{"sq0csp-"}},
	{"docker-token", dashed, 20, false, dashed, []string{"dckr_pat_"}},
	{"atlassian-token", padded, 60, false, padded, []string{"ATATT3", "ATCTT3"}},
	{"netlify-token", alnum, 36, false, alnum, []string{"nfp_"}},
	{"sentry-token", padded, 60, false, padded, []string{"sntrys_"}},
	{"sentry-token", hexadecimal, 64, false, alnum, []string{"sntryu_"}},
	{"planetscale-token", dotted, 32, false, dotted, []string{"pscale_tkn_", "pscale_pw_"}},
	{"tailscale-key", dashed, 20, false, dashed, []string{"tskey-"}},
	{"fly-token", dashed, 40, false, dashed, []string{"fo1_"}},
	{"fly-token", padded, 40, false, padded, []string{"fm2_"}},
	{"1password-token", padded, 100, false, padded, []string{"ops_eyJ"}},
	{"age-key", capitals, 58, false, alnum, []string{"AGE-SECRET-KEY-1"}},
	{"artifactory-key", alnum, 60, false, alnum, []string{"AKCp"}},
	{"dropbox-token", dashed, 100, false, padded, []string{"sl."}},
	{"terraform-token", padded, 40, false, padded, []string{".atlasv1."}},
}

// formats has an entry for each prefix of each kind.
var formats = func() (all []tokenFormat) {
	for i := range tokenKinds {
		for _, prefix := range tokenKinds[i].prefixes {
			all = append(all, tokenFormat{&tokenKinds[i], prefix, "[REDACTED:" + tokenKinds[i].kind + "]"})
		}
	}
	return all
}()

func formatAnchors() []anchor {
	var all []anchor
	for i := range formats {
		f := &formats[i]
		if len(f.prefix) >= keySymbols {
			all = append(all, headAnchor(f.prefix, ruleFormat, i))
			continue
		}
		all = append(all, pairAnchor(f.prefix, ruleFormat, i))
	}
	return all
}

// findFormat looks for a token of format i whose first symbols, up to ten,
// end at end.
func findFormat(s string, end, i int) (markedSpan, bool) {
	f := &formats[i]
	start := end - max(min(len(f.prefix), window), keySymbols)
	if start < 0 || !strings.HasPrefix(s[start:], f.prefix) {
		return markedSpan{}, false
	}
	begin, ok := f.tokenStart(s, start)
	if !ok {
		return markedSpan{}, false
	}
	body := start + len(f.prefix)
	most := len(s)
	if f.exact {
		most = min(most, body+f.least+1)
	}
	stop := f.body.skipRun(s[:most], body)
	if stop-body < f.least || f.exact && stop-body != f.least {
		return markedSpan{}, false
	}
	return markedSpan{begin, f.rest.skipRun(s, stop), markFormat + mark(i)}, true
}

// tokenStart returns where the token begins whose prefix is at i, and whether
// it may begin there: not inside a longer word.
func (f *tokenFormat) tokenStart(s string, i int) (int, bool) {
	var before alphabet
	least, most := 0, 0
	switch f.prefix {
	case ":AA": // the number of a Telegram bot, in a URL with "bot" before it
		before, least, most = digits, 8, 10
	case "-us": // Mailchimp ends with its data centre
		before, least, most = hexadecimal, 32, 32
	case ".atlasv1.": // Terraform's token has an id in front
		before, least, most = alnum, 14, 14
	}
	start := i
	for start > 0 && i-start < most && before.contains(s[start-1]) {
		start--
	}
	if i-start < least {
		return 0, false
	}
	free := start == 0 || !isWord(s[start-1]) || before == digits && strings.HasSuffix(s[:start], "bot")
	return start, free || f.isDistinctive()
}

// isDistinctive reports whether no word that goes on into the prefix can look
// like a token.
func (f *tokenFormat) isDistinctive() bool {
	const prefix, body = 4, 30
	last := f.prefix[len(f.prefix)-1]
	return len(f.prefix) >= prefix && f.least >= body && f.body != dashed && (last == '_' || last == '-')
}
