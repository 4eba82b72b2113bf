package gateway_test

import (
	"strings"
)

// corpus returns requests of one version of the protocol. The word META stands
// for a _meta that the version requires, MORE for the members of one.
func corpus(version string) []sent {
	var out []sent
	add := func(bodies ...string) {
		for _, b := range bodies {
			b = strings.ReplaceAll(b, "META", metaOf(version))
			more := strings.TrimSuffix(strings.TrimPrefix(metaOf(version), `"_meta":{`), "}")
			if more != "" {
				more = "," + more
			}
			out = append(out, sent{body: strings.ReplaceAll(b, "MORE", more)})
		}
	}
	for _, p := range paramsPlain {
		add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + p + `}}`)
	}
	for _, p := range paramsOther {
		add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + p + `}}`)
	}
	for _, p := range []string{`META`, `"cursor":"",META`, `"cursor":"ZWNobw",META`, `META,"cursor":"enp6"`} {
		add(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + p + `}}`)
	}
	for _, p := range []string{
		`"cursor":"!",META`, `"cursor":1,META`, `"cursor":null,META`, `"Cursor":"ZWNobw",META`, `"x":1,META`,
		`"cursor":"ZWNo\u0062w",META`, `"cursor":"é",META`, `"cursor":"ZW\nNobw",META`,
	} {
		add(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + p + `}}`)
	}
	for _, id := range []string{`0`, `-7`, `9007199254740991`, `-9007199254740991`, `"x"`, `""`, `"7"`, `"a b"`} {
		add(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"echo",META}}`)
	}
	for _, id := range []string{
		`-0`, `"é"`, `"\u0061"`, "\"\xff\"", `"a\"b"`, `"<&>"`, `1.0`, `1e2`, `9007199254740992`, `null`, `true`, `{}`, `[1]`,
	} {
		add(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"echo",META}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list","params":{META}}`)
	}
	add(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	add(` { "params" : { META , "name" : "echo" , "arguments" : { "a" : [ 1 , 2 ] } } , "method" : "tools/call" , "id" : 1 , "jsonrpc" : "2.0" } `)
	add(messagesOther...)
	return out
}

// paramsPlain are parameters of ordinary calls.
var paramsPlain = []string{
	`"name":"echo","arguments":{"a":1,"b":"two","c":[3]},META`,
	`"name":"echo","arguments":{},META`,
	`"name":"echo",META`,
	`META,"arguments":{"a":null},"name":"echo"`,
	`"name":"sum","arguments":{"a":1,"b":2},META`,
	`"name":"sum","arguments":{"a":"x"},META`,
	`"name":"outside","arguments":{},META`,
	`"name":"session","arguments":{},META`,
	`"name":"session","_meta":{"sallyport/session":"my talk"MORE}`,
	`"name":"nobody","arguments":{},META`,
	`"name":"dispatch","arguments":{},META`,
	`"name":"a<b>&c","arguments":{},META`,
	`"name":"stages","arguments":{},META`,
	`"name":"parts","arguments":{},META`,
	`"name":"picture","arguments":{},META`,
	`"name":"prompt:greeting","arguments":{"who":"Ann"},META`,
	`"name":"resource:files","arguments":{"uri":"test://text"},META`,
	`"name":"nothing","arguments":{},META`,
	`"name":"echo","arguments":{"a":1,"a":2},META`,
	`"name":"echo","arguments":{"html":"<b>&amp;</b>","esc":"\"\\\/\b\f\n\r\t\u0000\u001f\u007f\u2028\u2029\ud83d\ude00é"},META`,
	`"name":"echo","arguments":{"bad":"` + "\xff\xc3(" + `","half":"\ud800"},META`,
	`"name":"echo","arguments":{"m":-0,"o":123456789012345678901234567890.5,"s":"1e999"},META`,
	`"name":"echo","arguments":` + strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300) + `,META`,
	`"name":"echo","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/logLevel":"debug"MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c","icons":[{"src":"x","sizes":["48x48"]}],"other":1}MORE}`,
}

// paramsOther are parameters of calls that are unusual, wrong or hostile.
var paramsOther = []string{
	`"name":"echo","arguments":{"n":1e999},META`,
	`"name":"echo","arguments":{"n":1E5},META`,
	`"name":"echo","arguments":{"n":` + strings.Repeat("9", 400) + `},META`,
	`"name":"echo","arguments":null,META`,
	`"name":"echo","arguments":[1],META`,
	`"name":"echo","arguments":"x",META`,
	`"name":"echo","arguments":7,META`,
	`"name":"echo","Arguments":{"a":1},META`,
	`"name":"echo","ARGUMENTS":{"a":1},"arguments":{"b":2},META`,
	`"name":"echo","argument\u0073":{"a":1},META`,
	`"Name":"echo","arguments":{},META`,
	`"name":"echo","NAME":"sum","arguments":{},META`,
	`"name":"echo","name":"sum",META`,
	`"name":"echo","n\u0061me":"sum",META`,
	`"name":"ec\u0068o","arguments":{},META`,
	`"name":"écho","arguments":{},META`,
	`"name":"` + "ec\xffho" + `","arguments":{},META`,
	`"name":"","arguments":{},META`,
	`"name":7,"arguments":{},META`,
	`"name":null,META`,
	`"arguments":{},META`,
	`"name":"echo","unknown":{"a":[1]},META`,
	`"name":"echo","requestState":"x",META`,
	`"name":"echo","requestState":7,META`,
	`"name":"echo","inputResponses":{},META`,
	`"name":"echo","inputResponses":[],META`,
	`"name":"echo","task":{},META`,
	`"name":"echo"`,
	`"name":"echo","_meta":null`,
	`"name":"echo","_meta":[]`,
	`"name":"echo","_meta":"x"`,
	`"name":"echo","_meta":{}`,
	`"name":"echo","_META":{},META`,
	`"name":"echo",META,META`,
	`"name":"stages","_meta":{"progressToken":"p"MORE}`,
	`"name":"stages","_meta":{"progressToken":7MORE}`,
	`"name":"stages","_meta":{"progressToken":null MORE}`,
	`"name":"stages","_meta":{"progressToken":{}MORE}`,
	`"name":"stages","_meta":{"progressToken":true MORE}`,
	`"name":"session","_meta":{"sallyport/session":""MORE}`,
	`"name":"session","_meta":{"sallyport/session":7MORE}`,
	`"name":"session","_meta":{"sallyport/session":null MORE}`,
	`"name":"session","_meta":{"sallyport/session":"a\u0007"MORE}`,
	`"name":"session","_meta":{"sallyport/session":"é"MORE}`,
	`"name":"session","_meta":{"sallyport/session":"` + strings.Repeat("x", 257) + `"MORE}`,
	`"name":"session","_meta":{"sallyport/session":"a","sallyport/session":"b"MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/logLevel":7MORE}`,
	`"name":"echo","_meta":{"x":1e999MORE}`,
	`"name":"echo","_meta":{"x":{"y":[1]}MORE}`,
	`"name":"echo","_meta":{"x":"\ud800"MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":null MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":"c"MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":[]MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"name":1}MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"NAME":1}MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"name":1,"name":"c"}MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c","icons":{}}MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"icons":[null]}MORE}`,
	`"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`,
	capable(`null`), capable(`[]`), capable(`"x"`), capable(`{}`), capable(`{"roots":{"listChanged":true}}`), capable(`{"roots":null}`),
	capable(`{"roots":1}`), capable(`{"roots":{"listChanged":1}}`), capable(`{"ROOTS":1}`), capable(`{"sampling":true}`),
	capable(`{"elicitation":{"form":{},"url":{}}}`), capable(`{"elicitation":[]}`), capable(`{"experimental":{"x":1}}`), capable(`{"experimental":[]}`),
	capable(`{"extensions":{"a/b":{}}}`), capable(`{"extensions":{"a/b":null}}`), capable(`{"sampling":{"tools":{}},"unknown":1}`),
	versioned(`"2026-07-28"`), versioned(`"2026-07-2\u0038"`), versioned(`"2025-11-25"`), versioned(`"2099-01-01"`), versioned(`"2026-07-29"`),
	versioned(`""`), versioned(`null`), versioned(`7`), versioned(`{}`), versioned(`"x"`),
	`"name":"echo","arguments":` + strings.Repeat(`{"a":`, 950) + `1` + strings.Repeat(`}`, 950) + `,META`,
	`"name":"echo","arguments":` + strings.Repeat(`{"a":`, 1001) + `1` + strings.Repeat(`}`, 1001) + `,META`,
	`"name":"echo","arguments":{"a":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `},META`,
	`"name":"echo","arguments":{"a":` + strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000) + `},META`,
}

func capable(value string) string {
	return `"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + value + `}`
}

func versioned(value string) string {
	return `"name":"echo","_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":` + value + `}`
}

// messagesOther are messages that are unusual, wrong or hostile.
var messagesOther = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}`,
	`{"jsonrpc":"2.0","id":1,"method":"TOOLS/LIST","params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools\/list","params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list","params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"ID":2,"method":"tools/list","params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"ping","params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META},"result":{}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META},"error":{"code":1,"message":"x"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META},"other":1}`,
	`{"jsonrpc":"1.0","id":1,"method":"tools/list","params":{META}}`,
	`{"jsonrpc":2.0,"id":1,"method":"tools/list","params":{META}}`,
	`{"id":1,"method":"tools/list","params":{META}}`,
	`{"jsonrpc":"2.0","method":"tools/list","params":{META}}`,
	`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo",META}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/lists","params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"method":"","params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"method":7,"params":{META}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}} {}`,
	`[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}]`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{META}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`,
}
