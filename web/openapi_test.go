package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// document is docs/openapi.yml.
type document struct {
	root map[string]any

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// openAPI reads the document. Its schemas are closed for the test: a field that an answer has and the document does not is a mistake.
func openAPI(t *testing.T) *document {
	t.Helper()
	text, err := os.ReadFile("../docs/openapi.yml")
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err = yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	closeSchemas(root)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("mem:openapi", root); err != nil {
		t.Fatal(err)
	}
	return &document{root: root.(map[string]any), compiler: compiler}
}

func closeSchemas(node any) {
	switch node := node.(type) {
	case map[string]any:
		if node["type"] == "object" && node["properties"] != nil {
			node["additionalProperties"] = false
		}
		for _, below := range node {
			closeSchemas(below)
		}
	case []any:
		for _, below := range node {
			closeSchemas(below)
		}
	}
}

// at walks down the document, through references.
func (d *document) at(path ...string) map[string]any {
	node := d.root
	for _, key := range path {
		node, _ = node[key].(map[string]any)
		if ref, ok := node["$ref"].(string); ok {
			node = d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
	}
	return node
}

// check compares a value with the schema at a place of the document.
func (d *document) check(body []byte, path ...string) error {
	pointer := "mem:openapi#"
	for _, key := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
	}
	d.mu.Lock()
	schema, err := d.compiler.Compile(pointer)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// operation is a path and a method of the document.
type operation struct{ path, method string }

func (d *document) operations() map[operation]map[string]any {
	out := map[operation]map[string]any{}
	for path, methods := range d.at("paths") {
		for method, op := range methods.(map[string]any) {
			out[operation{path, strings.ToUpper(method)}] = op.(map[string]any)
		}
	}
	return out
}

// The shape of OpenAPI 3.1, as far as the document needs it: what is not in it is a slip of the pen.
const shape = `{
  "$ref": "#/$defs/root",
  "$defs": {
    "text": {"type": "string", "minLength": 1},
    "root": {
      "type": "object", "required": ["openapi", "info", "paths", "components"], "additionalProperties": false,
      "properties": {
        "openapi": {"const": "3.1.0"},
        "info": {"type": "object", "required": ["title", "version"], "properties": {"license": {"required": ["name"]}}},
        "servers": {"type": "array", "items": {"required": ["url"]}},
        "tags": {"type": "array", "items": {"required": ["name", "description"]}},
        "paths": {"type": "object", "propertyNames": {"pattern": "^/"}, "additionalProperties": {
          "type": "object", "minProperties": 1, "propertyNames": {"enum": ["get", "post", "put"]}, "additionalProperties": {"$ref": "#/$defs/operation"}}},
        "components": {"type": "object", "additionalProperties": false, "properties": {
          "parameters": {"additionalProperties": {"$ref": "#/$defs/parameter"}},
          "responses": {"additionalProperties": {"$ref": "#/$defs/response"}},
          "schemas": {"type": "object", "additionalProperties": {"required": ["type", "description"]}}}}
      }
    },
    "operation": {
      "type": "object", "required": ["operationId", "tags", "summary", "responses"], "additionalProperties": false,
      "properties": {
        "operationId": {"$ref": "#/$defs/text"}, "summary": {"$ref": "#/$defs/text"}, "description": {"$ref": "#/$defs/text"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/text"}, "minItems": 1},
        "parameters": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/ref"}, {"$ref": "#/$defs/parameter"}]}},
        "responses": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[2-5][0-9][0-9]$"}, "additionalProperties": {
          "anyOf": [{"$ref": "#/$defs/ref"}, {"$ref": "#/$defs/response"}]}}
      }
    },
    "ref": {"type": "object", "required": ["$ref"], "additionalProperties": false, "properties": {"$ref": {"pattern": "^#/components/"}}},
    "parameter": {
      "type": "object", "required": ["name", "in", "description", "schema"], "additionalProperties": false,
      "properties": {"name": {"$ref": "#/$defs/text"}, "in": {"enum": ["path", "query"]}, "required": {"const": true}, "description": {"$ref": "#/$defs/text"}, "schema": {"type": "object"}},
      "if": {"properties": {"in": {"const": "path"}}}, "then": {"required": ["required"]}
    },
    "response": {
      "type": "object", "required": ["description", "content"], "additionalProperties": false,
      "properties": {"description": {"$ref": "#/$defs/text"}, "headers": {"type": "object"},
        "content": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[a-z]+/[a-z.-]+$"}, "additionalProperties": {
          "type": "object", "required": ["schema"], "additionalProperties": false, "properties": {"schema": {"type": "object"}}}}}
    }
  }
}`

func TestOpenAPIDocumentIsOne(t *testing.T) {
	t.Parallel()
	d := openAPI(t)
	rules, err := jsonschema.UnmarshalJSON(strings.NewReader(shape))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("mem:shape", rules); err != nil {
		t.Fatal(err)
	}
	if err := compiler.MustCompile("mem:shape").Validate(any(d.root)); err != nil {
		t.Error(err)
	}
	for name := range d.at("components", "schemas") {
		if _, err := d.compiler.Compile("mem:openapi#/components/schemas/" + name); err != nil {
			t.Error(err)
		}
	}
	used, ids := references(d.root), map[any]operation{}
	for _, kind := range []string{"schemas", "responses", "parameters"} {
		for name := range d.at("components", kind) {
			if ref := "#/components/" + kind + "/" + name; !used[ref] && name != "TargetEvent" { // which the text names
				t.Errorf("nobody refers to %s", ref)
			}
			delete(used, "#/components/"+kind+"/"+name)
		}
	}
	if len(used) > 0 {
		t.Errorf("references that lead nowhere: %v", used)
	}
	for op, what := range d.operations() {
		if other, taken := ids[what["operationId"]]; taken {
			t.Errorf("%v and %v are both called %v", op, other, what["operationId"])
		}
		ids[what["operationId"]] = op
		if _, named := strings.CutSuffix(op.path, "}"); named || strings.Contains(op.path, "}/") {
			name := op.path[strings.Index(op.path, "{")+1 : strings.Index(op.path, "}")]
			if text := fmt.Sprint(what["parameters"]); !strings.Contains(text, "parameters/"+name) && !strings.Contains(text, "name:"+name) {
				t.Errorf("%v does not describe %s", op, name)
			}
		}
	}
}

// references are all those of a tree.
func references(node any) map[string]bool {
	out := map[string]bool{}
	switch node := node.(type) {
	case map[string]any:
		if ref, ok := node["$ref"].(string); ok {
			out[ref] = true
		}
		for _, below := range node {
			maps.Copy(out, references(below))
		}
	case []any:
		for _, below := range node {
			maps.Copy(out, references(below))
		}
	}
	return out
}

// everything is a handler with all that can be switched on.
func everything(t *testing.T, daemon Daemon) (*Handler, *Options) {
	t.Helper()
	o, _ := controlled(nil)
	o.Daemon, o.Pprof = daemon, true
	o.Captures = keptCaptures{}
	o.Rules = fstest.MapFS{"rules/a.yml": {Data: []byte("groups: []\n")}, "README.md": {}}
	o.Probe = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := map[string]int{"": 400, "closed": 403, "busy": 429, "faulty": 500}[r.URL.Query().Get("target")]
		tell(w, max(code, 200), "probe_success 1")
	})
	return newHandler(t, o), o
}

// keptCaptures has the captures x and, which breaks, broken.
type keptCaptures struct{}

func (keptCaptures) List() []view.Capture { return []view.Capture{filled[view.Capture]()} }

func (keptCaptures) Write(w io.Writer, id string) (bool, error) {
	switch id {
	case "x":
		_, err := io.WriteString(w, "{}\n")
		return true, err
	case "broken":
		return true, errors.New("is broken")
	}
	return false, nil
}

// filled gives a value in which every field is there.
func filled[T any]() T {
	var v T
	fillIn(reflect.ValueOf(&v).Elem())
	return v
}

func fillIn(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = testNow
		return
	case *view.Health:
		*at = view.Degraded
		return
	case *view.SLOState:
		*at = view.Unproved
		return
	case *view.PhaseName:
		*at = view.PhaseWait
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillIn(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fillIn(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("x"), value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fillIn(field)
		}
	default:
		panic("cannot fill in a " + v.Type().String())
	}
}

// fullDaemon has one of everything, with every field; emptiestDaemon has one of everything, with none.
func fullDaemon() *fakeDaemon {
	return &fakeDaemon{
		process: filled[view.Process](), targets: []view.Target{filled[view.Target]()}, records: map[string][]view.Record{"x": {filled[view.Record]()}},
		discovery: []view.DiscoverySet{filled[view.DiscoverySet]()}, collectors: []view.Collector{filled[view.Collector]()},
	}
}

func emptiestDaemon() *fakeDaemon {
	return &fakeDaemon{
		targets: []view.Target{{Name: "x", Health: view.Unknown}}, records: map[string][]view.Record{"x": {{}}},
		discovery: []view.DiscoverySet{{}}, collectors: []view.Collector{{}},
	}
}

// question is asked of a handler; the code says which of the documented answers it is about.
type question struct {
	path   string // of the document
	method string
	asked  string // with its query
	code   int
	with   func(*Options)
}

// forced are questions for answers that do not come by asking for the path.
func forced() []question {
	failing := func(err error) func(*Options) {
		return func(o *Options) { o.Controls.Reload = func(context.Context) error { return err } }
	}
	off := func(o *Options) { o.Controls = Controls{} }
	out := []question{
		{"/probe", "GET", "/probe", 400, nil},
		{"/probe", "GET", "/probe?target=closed", 403, nil},
		{"/probe", "GET", "/probe?target=busy", 429, nil},
		{"/probe", "GET", "/probe?target=faulty", 500, nil},
		{"/-/ready", "GET", "/-/ready", 503, nil},
		{"/-/pause", "POST", "/-/pause?x=", 400, nil},
		{"/-/resume", "POST", "/-/resume?x=", 400, nil},
		{"/-/pause", "POST", "/-/pause?target=x", 404, nil},
		{"/-/resume", "POST", "/-/resume?target=x", 404, nil},
		{"/-/pause", "POST", "/-/pause", 403, off},
		{"/-/resume", "POST", "/-/resume", 403, off},
		{"/api/v1/targets/{name}", "GET", "/api/v1/targets/nobody", 404, nil},
		{"/api/v1/targets/{name}/records", "GET", "/api/v1/targets/nobody/records", 404, nil},
		{"/api/v1/targets/{name}/pause", "POST", "/api/v1/targets/x/pause", 404, nil},
		{"/api/v1/targets/{name}/resume", "POST", "/api/v1/targets/x/resume", 404, nil},
		{"/api/v1/captures/{id}", "GET", "/api/v1/captures/nobody", 404, nil},
		{"/api/v1/captures/{id}", "GET", "/api/v1/captures/broken", 500, nil},
		{"/api/v1/alerts/preview", "GET", "/api/v1/alerts/preview", 500, func(o *Options) { o.Rules = os.DirFS("testdata/nowhere") }},
	}
	for _, method := range []string{"POST", "PUT"} {
		out = append(out,
			question{"/-/reload", method, "/-/reload", 403, off}, question{"/-/reload", method, "/-/reload", 409, failing(ErrReloading)},
			question{"/-/reload", method, "/-/reload", 500, failing(errors.New("a.yml:1:2: is wrong"))}, question{"/-/quit", method, "/-/quit", 403, off},
		)
	}
	return out
}

// askFor makes the request that gets an answer with that code.
func (q *question) askFor(t *testing.T, daemon Daemon) *httptest.ResponseRecorder {
	t.Helper()
	_, o := everything(t, daemon)
	if q.with != nil {
		q.with(o)
	}
	if q.path == "/metrics" && q.code == http.StatusServiceUnavailable {
		return scrapeWithinScrape(t, o)
	}
	h := newHandler(t, o)
	if q.code != http.StatusServiceUnavailable {
		h.Ready()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // streams of events end with the first
	body := io.Reader(http.NoBody)
	if q.code == http.StatusRequestEntityTooLarge {
		body = strings.NewReader(strings.Repeat("x", maxBody+1))
	}
	if q.path == "/api/v1/events" && q.code == http.StatusServiceUnavailable {
		h.Run(ctx) // is over
	}
	request := httptest.NewRequestWithContext(ctx, q.method, q.asked, body)
	if q.code == http.StatusForbidden && q.with == nil && q.method != http.MethodGet {
		request.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	return w
}

// scrapeWithinScrape is the answer to a scrape while as many run as may.
func scrapeWithinScrape(t *testing.T, o *Options) *httptest.ResponseRecorder {
	t.Helper()
	inner := httptest.NewRecorder()
	o.MaxRequests = 1
	var h *Handler
	o.Gatherer = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		h.ServeHTTP(inner, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		return nil, nil
	})
	h = newHandler(t, o)
	ask(t, h, http.MethodGet, "/metrics")
	return inner
}

// questionFor is how an answer of the document is got.
func questionFor(op operation, code int) question {
	for _, q := range forced() {
		if q.path == op.path && q.method == op.method && q.code == code {
			return q
		}
	}
	q := question{path: op.path, method: op.method, code: code}
	name := "x"
	if strings.HasSuffix(op.path, "/pause") || strings.HasSuffix(op.path, "/resume") {
		name = "a" // which controlled knows
	}
	q.asked = strings.NewReplacer("{name}", name, "{id}", "x").Replace(op.path)
	switch {
	case code == http.StatusBadRequest:
		q.asked += "?no_such_key=1"
	case code == http.StatusMethodNotAllowed:
		q.method = http.MethodDelete
	case op.path == "/probe":
		q.asked += "?target=x"
	}
	return q
}

func TestEveryAnswerIsAsDocumented(t *testing.T) {
	t.Parallel()
	d := openAPI(t)
	for op, what := range d.operations() {
		for codeText := range what["responses"].(map[string]any) {
			var code int
			if _, err := fmt.Sscan(codeText, &code); err != nil {
				t.Fatal(err)
			}
			for name, daemon := range map[string]Daemon{"with every field": fullDaemon(), "with none that can be left out": emptiestDaemon()} {
				t.Run(fmt.Sprintf("%s %s gives %d %s", op.method, op.path, code, name), func(t *testing.T) {
					t.Parallel()
					q := questionFor(op, code)
					w := q.askFor(t, daemon)
					d.checkAnswer(t, w, op, code)
				})
			}
		}
	}
}

func (d *document) checkAnswer(t *testing.T, w *httptest.ResponseRecorder, op operation, code int) {
	t.Helper()
	if w.Code != code {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	place := []string{"paths", op.path, strings.ToLower(op.method), "responses", fmt.Sprint(code)}
	response := d.at(place...)
	media, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	content, _ := response["content"].(map[string]any)
	if _, ok := content[media]; !ok {
		t.Fatalf("media type %q is not documented", media)
	}
	for header := range d.at(append(place, "headers")...) {
		if _, ok := w.Header()[http.CanonicalHeaderKey(header)]; !ok {
			t.Errorf("no header %s", header)
		}
	}
	switch {
	case media == "text/event-stream":
		_, data, _ := strings.Cut(w.Body.String(), "event: targets\ndata: ")
		var targets []json.RawMessage
		if err := json.Unmarshal([]byte(strings.TrimSpace(data)), &targets); err != nil || len(targets) != 1 {
			t.Fatalf("%v: %q", err, data)
		}
		if err := d.check(targets[0], "components", "schemas", "TargetEvent"); err != nil {
			t.Error(err)
		}
	case media != "application/json":
	case strings.Contains(fmt.Sprint(d.at("paths", op.path, strings.ToLower(op.method), "responses")[fmt.Sprint(code)]), "$ref:#/components/responses"):
		if err := d.check(w.Body.Bytes(), "components", "schemas", "Error"); err != nil {
			t.Error(err)
		}
	default:
		if err := d.check(w.Body.Bytes(), append(place, "content", media, "schema")...); err != nil {
			t.Errorf("%v\n%s", err, w.Body)
		}
	}
}

// undocumented are for people with browsers and debuggers.
func undocumented(path string) bool {
	if path == "/{$}" || path == "/targets/{name}" || path == "/api/v1/" || strings.HasPrefix(path, "/debug/pprof/") {
		return true
	}
	for _, a := range assetTypes {
		if path == a.path {
			return true
		}
	}
	return false
}

func TestEveryRouteIsDocumentedAndNothingElse(t *testing.T) {
	t.Parallel()
	h, o := everything(t, fullDaemon())
	routes, err := h.routes(o)
	if err != nil {
		t.Fatal(err)
	}
	var served, documented []string
	for _, r := range routes {
		if undocumented(r.path) {
			continue
		}
		methods := r.methods
		if methods == nil {
			methods = []string{http.MethodGet}
		}
		for _, method := range methods {
			if method != http.MethodHead { // goes without saying where there is GET
				served = append(served, method+" "+r.path)
			}
		}
	}
	for op := range openAPI(t).operations() {
		documented = append(documented, op.method+" "+op.path)
	}
	slices.Sort(served)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("(-documented +served):\n%s", diff)
	}
}

// What may be missing is not required, all else is.
func TestDocumentedFieldsAreThoseOfTheValues(t *testing.T) {
	t.Parallel()
	d := openAPI(t)
	for name, value := range map[string]any{
		"Process": view.Process{}, "Config": view.Config{}, "Reload": view.Reload{}, "Instrument": view.Instrument{}, "Target": view.Target{},
		"Window": view.Window{}, "Quantiles": view.Quantiles{}, "SLO": view.SLO{}, "Budget": view.Budget{}, "Point": view.Point{}, "Record": view.Record{},
		"Phase": view.Phase{}, "Collector": view.Collector{}, "DiscoverySet": view.DiscoverySet{}, "Dropped": view.Dropped{}, "Capture": view.Capture{},
	} {
		want := map[string]bool{} // whether it is required
		for field := range reflect.TypeOf(value).Fields() {
			key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			want[key] = options != "omitempty"
		}
		got := map[string]bool{}
		schema := d.at("components", "schemas", name)
		for key := range schema["properties"].(map[string]any) {
			got[key] = slices.Contains(schema["required"].([]any), any(key))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-value +document):\n%s", name, diff)
		}
	}
}

func TestDocumentedWordsAreThoseOfTheLists(t *testing.T) {
	t.Parallel()
	d := openAPI(t)
	for _, list := range []struct {
		at   []string
		want any
	}{
		{[]string{"components", "schemas", "Health"}, view.Healths},
		{[]string{"components", "schemas", "SLO", "properties", "state"}, view.SLOStates},
		{[]string{"components", "schemas", "Phase", "properties", "name"}, view.PhaseNames},
	} {
		if want, got := fmt.Sprint(list.want), fmt.Sprint(d.at(list.at...)["enum"]); got != want {
			t.Errorf("%v: %s are documented, want %s", list.at, got, want)
		}
	}
}
