package fxmodule

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	meternoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/session"
)

const scope = "github.com/troupe-go/troupe/fxmodule"

func meter(mp metric.MeterProvider) metric.Meter {
	return cmp.Or[metric.MeterProvider](mp, meternoop.NewMeterProvider()).Meter(scope)
}

func tracer(tp trace.TracerProvider) trace.Tracer {
	return cmp.Or[trace.TracerProvider](tp, tracenoop.NewTracerProvider()).Tracer(scope)
}

// observe reads the session's state whenever metrics are collected: see Module.
func observe(mp metric.MeterProvider, s *session.Session, name string, lc fx.Lifecycle) error {
	m := meter(mp)
	var errs [3]error
	var connected, epoch metric.Int64ObservableGauge
	var trust metric.Float64ObservableGauge
	connected, errs[0] = m.Int64ObservableGauge("troupe.session.connected", metric.WithDescription("1 while there is a connection to ZooKeeper"))
	epoch, errs[1] = m.Int64ObservableGauge("troupe.session.epoch", metric.WithDescription("the number of the present epoch"))
	trust, errs[2] = m.Float64ObservableGauge("troupe.session.trust", metric.WithUnit("s"), metric.WithDescription("for how long the session may still be trusted"))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	of := metric.WithAttributes()
	if name != "" { // a further session
		of = metric.WithAttributes(attribute.String("session", name))
	}
	registered, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		st := s.Status()
		up := int64(0)
		if st.State == session.Connected {
			up = 1
		}
		o.ObserveInt64(connected, up, of)
		o.ObserveInt64(epoch, int64(st.Epoch), of)
		o.ObserveFloat64(trust, max(0, time.Until(st.TrustedUntil).Seconds()), of)
		return nil
	}, connected, epoch, trust)
	if err != nil {
		return err
	}
	lc.Append(fx.Hook{OnStop: func(context.Context) error { return registered.Unregister() }})
	return nil
}
