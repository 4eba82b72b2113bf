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
	marker string
	prefix string
	body   alphabet
	// least is the smallest body; exact says that no body is longer.
	least int
	exact bool
	// rest is the alphabet of what may follow the body; it is taken too.
	rest alphabet
}

// formats has an entry for each prefix of each kind.
var formats = [...]tokenFormat{
	{"[REDACTED:openai-key]", "sk-", alnum, 20, false, dashed},
	{"[REDACTED:openai-key]", "sk-proj-", dashed, 20, false, dashed},
	{"[REDACTED:openai-key]", "sk-svcacct-", dashed, 20, false, dashed},
	{"[REDACTED:openai-key]", "sk-admin-", dashed, 20, false, dashed},
	{"[REDACTED:openai-key]", "sk-None-", dashed, 20, false, dashed},
	{"[REDACTED:anthropic-key]", "sk-ant-", dashed, 20, false, dashed},
	{"[REDACTED:openrouter-key]", "sk-or-", dashed, 20, false, dashed},
	{"[REDACTED:langfuse-key]", "sk-lf-", dashed, 20, false, dashed},
	{"[REDACTED:stripe-key]", "sk_live_", alnum, 16, false, wordy},
	{"[REDACTED:stripe-key]", "sk_test_", alnum, 16, false, wordy},
	{"[REDACTED:stripe-key]", "rk_live_", alnum, 16, false, wordy},
	{"[REDACTED:stripe-key]", "rk_test_", alnum, 16, false, wordy},
	{"[REDACTED:stripe-webhook-secret]", "whsec_", padded, 24, false, padded},
	{"[REDACTED:github-token]", "ghp_", alnum, 30, false, wordy},
	{"[REDACTED:github-token]", "gho_", alnum, 30, false, wordy},
	{"[REDACTED:github-token]", "ghu_", alnum, 30, false, wordy},
	{"[REDACTED:github-token]", "ghs_", alnum, 30, false, wordy},
	{"[REDACTED:github-token]", "ghr_", alnum, 30, false, wordy},
	{"[REDACTED:github-token]", "github_pat_", wordy, 36, false, wordy},
	{"[REDACTED:gitlab-token]", "glpat-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "gldt-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glrt-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glptt-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glsoat-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glcbt-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glimt-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glft-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glagent-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "gloas-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "glffct-", dashed, 20, false, dotted},
	{"[REDACTED:gitlab-token]", "GR1348941", dashed, 20, false, dashed},
	{"[REDACTED:aws-access-key]", "AKIA", capitals, 16, true, capitals},
	{"[REDACTED:aws-access-key]", "ASIA", capitals, 16, true, capitals},
	{"[REDACTED:aws-access-key]", "ABIA", capitals, 16, true, capitals},
	{"[REDACTED:aws-access-key]", "ACCA", capitals, 16, true, capitals},
	{"[REDACTED:google-api-key]", "AIza", dashed, 35, true, dashed},
	{"[REDACTED:google-oauth-secret]", "GOCSPX-", dashed, 24, false, dashed},
	{"[REDACTED:google-oauth-token]", "ya29.", dashed, 20, false, dotted},
	{"[REDACTED:google-oauth-token]", "1//0", dashed, 40, false, dashed},
	{"[REDACTED:slack-token]", "xoxb-", dashed, 16, false, dashed},
	{"[REDACTED:slack-token]", "xoxp-", dashed, 16, false, dashed},
	{"[REDACTED:slack-token]", "xoxa-", dashed, 16, false, dashed},
	{"[REDACTED:slack-token]", "xoxr-", dashed, 16, false, dashed},
	{"[REDACTED:slack-token]", "xoxs-", dashed, 16, false, dashed},
	{"[REDACTED:slack-token]", "xoxc-", dashed, 16, false, dashed},
	{"[REDACTED:slack-token]", "xoxd-", dashed, 16, false, padded},
	{"[REDACTED:slack-token]", "xoxe.", dotted, 16, false, dotted},
	{"[REDACTED:slack-token]", "xoxe-", dashed, 16, false, dashed},
	{"[REDACTED:slack-token]", "xapp-", dashed, 16, false, dashed},
	{"[REDACTED:slack-webhook]", "hooks.slack.com/services/", padded, 30, false, padded},
	{"[REDACTED:discord-webhook]", "discord.com/api/webhooks/", padded, 40, false, padded},
	{"[REDACTED:discord-webhook]", "discordapp.com/api/webhooks/", padded, 40, false, padded},
	{"[REDACTED:telegram-token]", ":AA", dashed, 33, true, dashed},
	{"[REDACTED:huggingface-token]", "hf_", alnum, 30, false, wordy},
	{"[REDACTED:huggingface-token]", "api_org_", alnum, 30, false, wordy},
	{"[REDACTED:vault-token]", "hvs.", dashed, 24, false, dashed},
	{"[REDACTED:vault-token]", "hvb.", dashed, 24, false, dashed},
	{"[REDACTED:vault-token]", "hvr.", dashed, 24, false, dashed},
	{"[REDACTED:groq-key]", "gsk_", alnum, 40, false, wordy},
	{"[REDACTED:xai-key]", "xai-", alnum, 40, false, dashed},
	{"[REDACTED:perplexity-key]", "pplx-", alnum, 32, false, dashed},
	{"[REDACTED:nvidia-key]", "nvapi-", dashed, 40, false, dashed},
	{"[REDACTED:replicate-token]", "r8_", alnum, 36, false, wordy},
	{"[REDACTED:tavily-key]", "tvly-", dashed, 24, false, dashed},
	{"[REDACTED:cerebras-key]", "csk-", alnum, 32, false, dashed},
	{"[REDACTED:langsmith-key]", "lsv2_pt_", wordy, 32, false, wordy},
	{"[REDACTED:langsmith-key]", "lsv2_sk_", wordy, 32, false, wordy},
	{"[REDACTED:e2b-key]", "e2b_", hexadecimal, 32, false, alnum},
	{"[REDACTED:supabase-key]", "sbp_", hexadecimal, 40, false, alnum},
	{"[REDACTED:supabase-key]", "sb_secret_", dashed, 20, false, dashed},
	{"[REDACTED:npm-token]", "npm_", alnum, 36, false, alnum},
	{"[REDACTED:pypi-token]", "pypi-", dashed, 50, false, dashed},
	{"[REDACTED:rubygems-key]", "rubygems_", hexadecimal, 48, false, alnum},
	{"[REDACTED:clojars-token]", "CLOJARS_", alnum, 60, false, alnum},
	{"[REDACTED:digitalocean-token]", "dop_v1_", hexadecimal, 64, false, alnum},
	{"[REDACTED:digitalocean-token]", "doo_v1_", hexadecimal, 64, false, alnum},
	{"[REDACTED:digitalocean-token]", "dor_v1_", hexadecimal, 64, false, alnum},
	{"[REDACTED:shopify-token]", "shpat_", hexadecimal, 32, false, alnum},
	{"[REDACTED:shopify-token]", "shpca_", hexadecimal, 32, false, alnum},
	{"[REDACTED:shopify-token]", "shppa_", hexadecimal, 32, false, alnum},
	{"[REDACTED:shopify-token]", "shpss_", hexadecimal, 32, false, alnum},
	{"[REDACTED:sendgrid-key]", "SG.", dotted, 60, false, dotted},
	{"[REDACTED:mailgun-key]", "key-", hexadecimal, 32, true, alnum},
	{"[REDACTED:mailchimp-key]", "-us", digits, 1, false, digits},
	{"[REDACTED:twilio-key]", "SK", hexadecimal, 32, true, alnum},
	{"[REDACTED:databricks-token]", "dapi", hexadecimal, 32, true, dashed},
	{"[REDACTED:linear-key]", "lin_api_", alnum, 32, false, alnum},
	{"[REDACTED:notion-token]", "secret_", alnum, 43, true, alnum},
	{"[REDACTED:notion-token]", "ntn_", alnum, 40, false, alnum},
	{"[REDACTED:figma-token]", "figd_", dashed, 32, false, dashed},
	{"[REDACTED:postman-key]", "PMAK-", hexadecimal, 24, false, dashed},
	{"[REDACTED:newrelic-key]", "NRAK-", alnum, 27, false, alnum},
	{"[REDACTED:grafana-token]", "glsa_", alnum, 32, false, wordy},
	{"[REDACTED:grafana-token]", "glc_", padded, 32, false, padded},
	{"[REDACTED:doppler-token]", "dp.pt.", alnum, 40, false, alnum},
	{"[REDACTED:doppler-token]", "dp.st.", dotted, 40, false, dotted},
	{"[REDACTED:pulumi-token]", "pul-", hexadecimal, 40, false, alnum},
	{"[REDACTED:square-token]", "sq0atp-", dashed, 22, false, dashed},
	{"[REDACTED:square-token]", "sq0csp-", dashed, 40, false, dashed},
	{"[REDACTED:docker-token]", "dckr_pat_", dashed, 20, false, dashed},
	{"[REDACTED:atlassian-token]", "ATATT3", padded, 60, false, padded},
	{"[REDACTED:atlassian-token]", "ATCTT3", padded, 60, false, padded},
	{"[REDACTED:netlify-token]", "nfp_", alnum, 36, false, alnum},
	{"[REDACTED:sentry-token]", "sntrys_", padded, 60, false, padded},
	{"[REDACTED:sentry-token]", "sntryu_", hexadecimal, 64, false, alnum},
	{"[REDACTED:planetscale-token]", "pscale_tkn_", dotted, 32, false, dotted},
	{"[REDACTED:planetscale-token]", "pscale_pw_", dotted, 32, false, dotted},
	{"[REDACTED:tailscale-key]", "tskey-", dashed, 20, false, dashed},
	{"[REDACTED:fly-token]", "fo1_", dashed, 40, false, dashed},
	{"[REDACTED:fly-token]", "fm2_", padded, 40, false, padded},
	{"[REDACTED:1password-token]", "ops_eyJ", padded, 100, false, padded},
	{"[REDACTED:age-key]", "AGE-SECRET-KEY-1", capitals, 58, false, alnum},
	{"[REDACTED:artifactory-key]", "AKCp", alnum, 60, false, alnum},
	{"[REDACTED:dropbox-token]", "sl.", dashed, 100, false, padded},
	{"[REDACTED:terraform-token]", ".atlasv1.", padded, 40, false, padded},
}

func formatAnchors() []anchor {
	var all []anchor
	for i := range formats {
		f := &formats[i]
		if len(f.prefix) >= keySymbols {
			all = append(all, headAnchor(f.prefix, ruleFormat, i))
			continue
		}
		for _, b := range []byte("0123456789abcdef") {
			all = append(all, headAnchor(f.prefix+string(b), ruleFormat, i))
		}
	}
	return all
}

// findFormat looks for a token of format i whose first symbols, up to ten,
// end at end.
func findFormat(s string, end, i int) (markedSpan, bool) {
	f := &formats[i]
	n := min(len(f.prefix), window)
	if n < keySymbols {
		n = keySymbols
	}
	start := end - n
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
