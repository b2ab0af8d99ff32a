//go:build k8s_sd

package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/prometheus/discovery/targetgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

const (
	// poolRetry is the time between two looks for the kind InferencePool, which may be installed later.
	poolRetry = 30 * time.Second
	// poolSettle is how long changes are collected before the targets are made anew.
	poolSettle = 200 * time.Millisecond
)

// poolWatch is an sd.Discoverer: it watches pools and pods, and gives for each pool its ready pods.
type poolWatch struct {
	client     dynamic.Interface
	namespaces []string
	logger     *slog.Logger
}

// Run implements sd.Discoverer. Each namespace goes its own way: one that may not be seen hides no other.
func (w *poolWatch) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	var running sync.WaitGroup
	for _, namespace := range w.namespaces {
		n := &poolNamespace{
			name: namespace, source: "inferencepool/" + namespace, client: w.client, logger: w.logger, dirty: make(chan struct{}, 1), known: map[string]bool{},
		}
		running.Go(func() { n.run(ctx, up) })
	}
	running.Wait()
}

// poolNamespace watches the pools of one namespace, or of all if its name is "".
type poolNamespace struct {
	name, source string
	client       dynamic.Interface
	logger       *slog.Logger
	dirty        chan struct{}   // has a mark when something has changed
	known        map[string]bool // sources of the pools that were told of

	pools cache.SharedIndexInformer // of *unstructured.Unstructured
	pods  cache.SharedIndexInformer // of *corev1.Pod
}

// complain logs what is wrong under the name of the namespace, by which an answer of it ends that.
func (n *poolNamespace) complain(message string, err error) {
	n.logger.Error(message, slog.String("path", n.source), slog.Any("err", err)) //nolint:sloglint // by its caller
}

func (n *poolNamespace) run(ctx context.Context, up chan<- []*targetgroup.Group) {
	for {
		kind, ok := n.awaitKind(ctx)
		if !ok {
			return
		}
		n.runKind(ctx, kind, up)
	}
}

// runKind gives the pools of one kind until the cluster does not have it any more, as after an upgrade to the newer one. What is known stays until the
// next kind is there.
func (n *poolNamespace) runKind(ctx context.Context, kind schema.GroupVersionResource, up chan<- []*targetgroup.Group) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := n.watch(ctx, kind, cancel); err != nil {
		n.complain("InferencePools cannot be watched", err)
		<-ctx.Done()
		return
	}
	running.Go(func() { n.pools.RunWithContext(ctx) })
	running.Go(func() { n.pods.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), n.pools.HasSynced, n.pods.HasSynced) {
		return
	}
	poke(n.dirty) // there may be nothing, which is an answer, too
	n.follow(ctx, up)
}

// awaitKind waits until the cluster knows what an InferencePool is, and tells under which name.
func (n *poolNamespace) awaitKind(ctx context.Context) (kind schema.GroupVersionResource, ok bool) {
	timer := time.NewTimer(poolRetry)
	defer timer.Stop()
	for {
		kind, err := n.kind(ctx)
		if err == nil {
			return kind, true
		}
		if ctx.Err() == nil {
			n.complain("InferencePools are not known", err)
		}
		timer.Reset(poolRetry)
		select {
		case <-ctx.Done():
			return kind, false
		case <-timer.C:
		}
	}
}

// kind finds the newest version of InferencePool that the cluster has. Who has no right to a version is not told whether there is one.
func (n *poolNamespace) kind(ctx context.Context) (schema.GroupVersionResource, error) {
	var refused error
	for _, kind := range poolKinds {
		_, err := n.client.Resource(kind).Namespace(n.name).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err == nil:
			return kind, nil
		case apierrors.IsForbidden(err) && refused == nil:
			refused = fmt.Errorf("%s: %w", kind.GroupVersion(), err)
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return kind, fmt.Errorf("%s: %w", kind.GroupVersion(), err)
		}
	}
	if refused == nil {
		refused = fmt.Errorf("the cluster has neither %s nor %s", poolKinds[0].GroupVersion(), poolKinds[1].GroupVersion())
	}
	return schema.GroupVersionResource{}, refused
}

// watch makes the informers of a kind of pools and of pods; gone is called if the cluster does not have the kind any more.
func (n *poolNamespace) watch(ctx context.Context, kind schema.GroupVersionResource, gone func()) error {
	n.pools, n.pods = n.informer(kind), n.informer(podKind())
	mark := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke(n.dirty) }, UpdateFunc: func(any, any) { poke(n.dirty) }, DeleteFunc: func(any) { poke(n.dirty) },
	}
	if err := n.pods.SetTransform(toPod); err != nil {
		return err
	}
	for _, informer := range []cache.SharedIndexInformer{n.pools, n.pods} {
		if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if ctx.Err() == nil {
				n.complain(watchFailed, err)
			}
			if apierrors.IsNotFound(err) {
				gone()
			}
		}); err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(mark); err != nil {
			return err
		}
	}
	return nil
}

const watchFailed = "watch of InferencePools and their pods failed"

// informer keeps up with one kind of objects.
func (n *poolNamespace) informer(kind schema.GroupVersionResource) cache.SharedIndexInformer {
	of := n.client.Resource(kind).Namespace(n.name)
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return of.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := of.Watch(ctx, options)
			switch {
			case err == nil:
				poke(n.dirty) // that the cluster answers again ends its error, even if nothing has changed
			case utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err):
				n.complain(watchFailed, err) // the informer goes on trying, and tells nobody
			}
			return events, err
		},
	}, &unstructured.Unstructured{}, 0, cache.Indexers{})
}

// podKind is how a client that knows no types names pods.
func podKind() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// toPod keeps of a pod what its type knows, without what wrote it: the larger half of every object.
// It runs on a goroutine of the library's: whatever the object is, it is an error at most.
func toPod(object any) (out any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	raw, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil // a deletion that was missed
	}
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, pod); err != nil {
		return nil, err
	}
	pod.ManagedFields = nil
	return pod, nil
}

// follow sends all groups whenever something has changed.
func (n *poolNamespace) follow(ctx context.Context, up chan<- []*targetgroup.Group) {
	timer := time.NewTimer(poolSettle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.dirty:
		}
		timer.Reset(poolSettle)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		groups, unread := n.groups()
		if !send(ctx, up, n.withGone(groups)) {
			return
		}
		if unread == nil {
			continue
		}
		if !send(ctx, up, nil) { // it is taken when the answer before has been: what is wrong with that does not end with it
			return
		}
		n.complain("InferencePool cannot be used", unread)
	}
}

// send tells whether it could before ctx ended.
func send(ctx context.Context, up chan<- []*targetgroup.Group, groups []*targetgroup.Group) bool {
	select {
	case <-ctx.Done():
		return false
	case up <- groups:
		return true
	}
}

// withGone adds an empty group for each pool that is gone, and one for the namespace itself, which may have no pool.
func (n *poolNamespace) withGone(groups []*targetgroup.Group) []*targetgroup.Group {
	next := make(map[string]bool, len(groups))
	for _, g := range groups {
		next[g.Source] = true
	}
	for source := range n.known {
		if !next[source] {
			groups = append(groups, &targetgroup.Group{Source: source})
		}
	}
	n.known = next
	return append(groups, &targetgroup.Group{Source: n.source + ":"})
}

// groups gives the targets of each pool, and what is wrong with those that cannot be read, which have none.
func (n *poolNamespace) groups() (out []*targetgroup.Group, unread error) {
	pods := map[string][]*corev1.Pod{} // by namespace
	for _, object := range n.pods.GetStore().List() {
		if pod, ok := object.(*corev1.Pod); ok && podReady(pod) {
			pods[pod.Namespace] = append(pods[pod.Namespace], pod)
		}
	}
	for _, object := range n.pools.GetStore().List() {
		raw, ok := object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		pool, err := readPool(raw)
		if err != nil {
			unread = errors.Join(unread, err)
			out = append(out, &targetgroup.Group{Source: poolSource(raw.GetNamespace(), raw.GetName())})
			continue
		}
		out = append(out, pool.group(matching(pods[pool.namespace], pool.selector)))
	}
	return out, unread
}

// matching gives the pods that a pool selects.
func matching(pods []*corev1.Pod, selector labels.Selector) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod)
		}
	}
	return out
}
