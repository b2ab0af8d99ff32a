//go:build k8s_sd

package discovery

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/prometheus/discovery/targetgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
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

// poolStore holds what is known of one namespace.
type poolStore struct {
	pools cache.SharedIndexInformer // of *unstructured.Unstructured
	pods  cache.SharedIndexInformer // of *corev1.Pod
}

// Run implements sd.Discoverer.
func (w *poolWatch) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	kind, ok := w.awaitKind(ctx)
	if !ok {
		return
	}
	dirty := make(chan struct{}, 1)
	stores := make([]poolStore, 0, len(w.namespaces))
	for _, namespace := range w.namespaces {
		store, err := w.watch(ctx, kind, namespace, dirty)
		if err != nil {
			w.logger.Error("InferencePools cannot be watched", slog.Any("err", err))
			return
		}
		stores = append(stores, store)
	}
	for _, s := range stores {
		if !cache.WaitForCacheSync(ctx.Done(), s.pools.HasSynced, s.pods.HasSynced) {
			return
		}
	}
	poke(dirty) // there may be nothing, which is an answer, too
	w.follow(ctx, stores, dirty, up)
}

// awaitKind waits until the cluster knows what an InferencePool is, and tells under which name.
func (w *poolWatch) awaitKind(ctx context.Context) (kind schema.GroupVersionResource, ok bool) {
	timer := time.NewTimer(poolRetry)
	defer timer.Stop()
	for {
		kind, err := w.kind(ctx)
		if err == nil {
			return kind, true
		}
		w.logger.Error("InferencePools are not known", slog.Any("err", err))
		timer.Reset(poolRetry)
		select {
		case <-ctx.Done():
			return kind, false
		case <-timer.C:
		}
	}
}

// kind finds the newest version of InferencePool that the cluster has.
func (w *poolWatch) kind(ctx context.Context) (schema.GroupVersionResource, error) {
	for _, kind := range poolKinds {
		_, err := w.client.Resource(kind).Namespace(w.namespaces[0]).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err == nil:
			return kind, nil
		case !apierrors.IsNotFound(err):
			return kind, fmt.Errorf("%s: %w", kind.GroupVersion(), err)
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("the cluster has neither %s nor %s", poolKinds[0].GroupVersion(), poolKinds[1].GroupVersion())
}

// watch begins to watch a namespace; whatever changes leaves a mark in dirty.
func (w *poolWatch) watch(ctx context.Context, kind schema.GroupVersionResource, namespace string, dirty chan<- struct{}) (poolStore, error) {
	s := poolStore{
		pools: dynamicinformer.NewFilteredDynamicInformer(w.client, kind, namespace, 0, cache.Indexers{}, nil).Informer(),
		pods:  dynamicinformer.NewFilteredDynamicInformer(w.client, podKind, namespace, 0, cache.Indexers{}, nil).Informer(),
	}
	mark := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke(dirty) }, UpdateFunc: func(any, any) { poke(dirty) }, DeleteFunc: func(any) { poke(dirty) },
	}
	if err := s.pods.SetTransform(toPod); err != nil {
		return s, err
	}
	for _, informer := range []cache.SharedIndexInformer{s.pools, s.pods} {
		if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if ctx.Err() == nil {
				w.logger.Error("watch of InferencePools and their pods failed", slog.Any("err", err))
			}
		}); err != nil {
			return s, err
		}
		if _, err := informer.AddEventHandler(mark); err != nil {
			return s, err
		}
		go informer.RunWithContext(ctx)
	}
	return s, nil
}

// podKind is how a client that knows no types names pods.
var podKind = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// toPod keeps of a pod what its type knows, without what wrote it: the larger half of every object.
func toPod(object any) (any, error) {
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
func (w *poolWatch) follow(ctx context.Context, stores []poolStore, dirty <-chan struct{}, up chan<- []*targetgroup.Group) {
	known := map[string]bool{}
	timer := time.NewTimer(poolSettle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-dirty:
		}
		timer.Reset(poolSettle)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		groups := w.groups(stores)
		next := make(map[string]bool, len(groups))
		for _, g := range groups {
			next[g.Source] = true
		}
		for source := range known {
			if !next[source] {
				groups = append(groups, &targetgroup.Group{Source: source}) // the pool is gone
			}
		}
		known = next
		select {
		case <-ctx.Done():
			return
		case up <- groups:
		}
	}
}

// groups gives the targets of each pool.
func (w *poolWatch) groups(stores []poolStore) []*targetgroup.Group {
	var out []*targetgroup.Group
	for _, s := range stores {
		pods := map[string][]*corev1.Pod{} // by namespace
		for _, object := range s.pods.GetStore().List() {
			if pod, ok := object.(*corev1.Pod); ok && podReady(pod) {
				pods[pod.Namespace] = append(pods[pod.Namespace], pod)
			}
		}
		for _, object := range s.pools.GetStore().List() {
			raw, ok := object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			pool, err := readPool(raw)
			if err != nil {
				w.logger.Error("InferencePool cannot be used", slog.Any("err", err))
				out = append(out, &targetgroup.Group{Source: poolSource(raw.GetNamespace(), raw.GetName())})
				continue
			}
			out = append(out, pool.group(matching(pods[pool.namespace], pool.selector)))
		}
	}
	return out
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
