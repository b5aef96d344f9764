package oracle

import (
	"encoding/json"
	"reflect"
	"testing"
)

// What is written by hand must be what is written by reflection, field by field.
func TestCommand_IsTheSameJSONByHand(t *testing.T) {
	var all Command
	v := reflect.ValueOf(&all).Elem()
	for i := range v.NumField() {
		c := Command{Cmd: "request"}
		f, one := v.Type().Field(i), reflect.ValueOf(&c).Elem().Field(i)
		switch f.Type.Kind() {
		case reflect.String:
			one.SetString(`a "quoted" \ text`)
		case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
			one.SetInt(-7)
		case reflect.Bool:
			one.SetBool(true)
		case reflect.Slice:
			if f.Type.Elem().Kind() == reflect.Uint8 {
				one.SetBytes([]byte{0, 255, 3})
			} else {
				one.Set(reflect.ValueOf([][]byte{{1}, {2, 3}}))
			}
		case reflect.Map:
			one.Set(reflect.MakeMap(f.Type))
		case reflect.Pointer:
			in := NewInit(1, 1, 1, 2)
			c.Init = &in
		default:
			t.Fatalf("field %s is of a kind that this test does not know", f.Name)
		}
		want, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.AppendJSON(nil)
		var a, b any
		if err != nil || json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s, want %s (%v)", f.Name, got, want, err)
		}
	}
}
