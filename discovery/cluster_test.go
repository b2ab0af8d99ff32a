//go:build k8s_sd

package discovery

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// cluster answers list and watch as the API server of Kubernetes does, with what a test puts into it.
type cluster struct {
	url    string
	server *httptest.Server

	mu        sync.Mutex
	objects   map[string]map[string]map[string]any // by collection, such as "v1/pods", and by namespace/name
	watchers  map[chan change]string               // by collection
	version   int
	refused   map[string]int // status by collection
	forbidden string         // namespace
}

type change struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
}

// kinds are the collections that the cluster has, and what is in them.
var kinds = map[string]string{
	"v1/pods": "Pod", "v1/services": "Service", "discovery.k8s.io/v1/endpointslices": "EndpointSlice",
	"inference.networking.k8s.io/v1/inferencepools": "InferencePool", "inference.networking.x-k8s.io/v1alpha2/inferencepools": "InferencePool",
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{objects: map[string]map[string]map[string]any{}, watchers: map[chan change]string{}, refused: map[string]int{}, version: 1}
	ts := httptest.NewServer(c)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	c.url, c.server = ts.URL, ts
	return c
}

// put adds or changes an object.
func (c *cluster) put(collection, namespace, name string, object map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	meta, _ := object["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["namespace"], meta["name"], meta["uid"], meta["resourceVersion"] = namespace, name, "uid-"+name, strconv.Itoa(c.version)
	object = maps.Clone(object)
	object["metadata"], object["kind"], object["apiVersion"] = meta, kinds[collection], collection[:strings.LastIndexByte(collection, '/')]
	of := c.objects[collection]
	if of == nil {
		of = map[string]map[string]any{}
		c.objects[collection] = of
	}
	what := "ADDED"
	if of[namespace+"/"+name] != nil {
		what = "MODIFIED"
	}
	of[namespace+"/"+name] = object
	c.tell(collection, change{what, object})
}

func (c *cluster) remove(collection, namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	object := c.objects[collection][namespace+"/"+name]
	delete(c.objects[collection], namespace+"/"+name)
	c.tell(collection, change{"DELETED", object})
}

func (c *cluster) tell(collection string, e change) {
	for watcher, of := range c.watchers {
		if of == collection {
			watcher <- e // has room for more than any test sends
		}
	}
}

// hangUp ends all watches.
func (c *cluster) hangUp() { c.server.CloseClientConnections() }

// forbid refuses a namespace to everybody.
func (c *cluster) forbid(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forbidden = namespace
}

// away ends the server; the function that it gives brings it back with what it had.
func (c *cluster) away(t *testing.T) (back func()) {
	t.Helper()
	address := c.server.Listener.Addr().String()
	c.server.CloseClientConnections()
	c.server.Config.Close()
	return func() {
		t.Helper()
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		again := &httptest.Server{Listener: listener, Config: &http.Server{Handler: c}}
		again.Start()
		t.Cleanup(func() {
			again.CloseClientConnections()
			again.Close()
		})
	}
}

// refuse answers every request for a collection with a status.
func (c *cluster) refuse(collection string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[collection] = status
}

// ServeHTTP implements http.Handler.
func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	collection, namespace := address(r.URL.Path)
	c.mu.Lock()
	status := c.refused[collection]
	if kinds[collection] == "" {
		status = http.StatusNotFound
	}
	if c.forbidden != "" && namespace == c.forbidden {
		status = http.StatusForbidden
	}
	if status != 0 {
		c.mu.Unlock()
		fail(w, status, collection)
		return
	}
	var items []map[string]any
	for _, key := range slices.Sorted(maps.Keys(c.objects[collection])) {
		if namespace == "" || strings.HasPrefix(key, namespace+"/") {
			items = append(items, c.objects[collection][key])
		}
	}
	version := strconv.Itoa(c.version)
	query := r.URL.Query()
	if query.Get("watch") == "" {
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": kinds[collection] + "List", "apiVersion": collection[:strings.LastIndexByte(collection, '/')],
			"metadata": map[string]any{"resourceVersion": version}, "items": append([]map[string]any{}, items...),
		})
		return
	}
	changes := make(chan change, 10_000)
	if query.Get("sendInitialEvents") == "true" {
		for _, object := range items {
			changes <- change{"ADDED", object}
		}
		changes <- change{"BOOKMARK", map[string]any{
			"kind": kinds[collection], "apiVersion": collection[:strings.LastIndexByte(collection, '/')],
			"metadata": map[string]any{"resourceVersion": version, "annotations": map[string]any{"k8s.io/initial-events-end": "true"}},
		}}
	}
	c.watchers[changes] = collection
	c.mu.Unlock()
	c.stream(w, r, changes, namespace)
}

// stream sends changes until the client goes.
func (c *cluster) stream(w http.ResponseWriter, r *http.Request, changes chan change, namespace string) {
	defer func() {
		c.mu.Lock()
		delete(c.watchers, changes)
		c.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flusher, encoder := http.NewResponseController(w), json.NewEncoder(w)
	_ = flusher.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-changes:
			meta, _ := e.Object["metadata"].(map[string]any)
			if of, _ := meta["namespace"].(string); namespace != "" && of != "" && of != namespace {
				continue
			}
			_ = encoder.Encode(e)
			_ = flusher.Flush()
		}
	}
}

// address splits "/apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE" into the collection and the namespace.
func address(path string) (collection, namespace string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")[1:] // without api or apis
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		namespace = parts[i+1]
		parts = slices.Delete(parts, i, i+2)
	}
	return strings.Join(parts, "/"), namespace
}

func fail(w http.ResponseWriter, status int, what string) {
	reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden", http.StatusInternalServerError: "InternalError"}[status]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status, "message": what + ": " + reason,
	})
}

// pod is one as far as discovery looks at it.
func pod(ip string, ready bool, labels map[string]any) map[string]any {
	status := map[bool]string{true: "True", false: "False"}[ready]
	return map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec": map[string]any{"nodeName": "node-1", "containers": []any{
			map[string]any{"name": "vllm", "image": "vllm:1", "ports": []any{map[string]any{"name": "http", "containerPort": 8000, "protocol": "TCP"}}},
		}},
		"status": map[string]any{"podIP": ip, "phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": status}}},
	}
}
