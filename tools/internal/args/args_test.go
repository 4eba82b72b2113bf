package args

import "testing"

type input struct {
	Word  string `json:"word" jsonschema:"A word."`
	Count int    `json:"count,omitempty" jsonschema:"A number."`
	Sure  *bool  `json:"sure,omitempty" jsonschema:"A choice."`
}

func TestSchema(t *testing.T) {
	got := string(Schema[input](func(get func(string) Property) {
		get("word").Length(1, 5).OneOf("a", "b").Format("uri")
		get("count").Between(0, 9).Default(3)
		get("sure").Type("boolean")
	}))
	const want = `{"type":"object","properties":{` +
		`"word":{"type":"string","description":"A word.","enum":["a","b"],"minLength":1,"maxLength":5,"format":"uri"},` +
		`"count":{"type":"integer","description":"A number.","default":3,"minimum":0,"maximum":9},` +
		`"sure":{"type":"boolean","description":"A choice."}},"required":["word"],"additionalProperties":false}`
	if got != want {
		t.Errorf("Schema = %s, want %s", got, want)
	}
}

func TestSchemaPanicsForUnknownName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Schema did not panic for a name that the struct does not have")
		}
	}()
	Schema[input](func(get func(string) Property) { get("wrod") })
}
