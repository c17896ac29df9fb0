//! Traces to an OpenTelemetry collector, when one is configured.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

/// Spans on their way to a collector; dropping it sends what is left.
pub struct Traces(SdkTracerProvider);

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("the OTLP exporter cannot be built: {0}")]
pub struct TraceError(#[from] opentelemetry_otlp::ExporterBuildError);

impl Traces {
    /// Sends spans to an OTLP/HTTP endpoint, such as `http://127.0.0.1:4318`.
    ///
    /// # Errors
    /// When the endpoint is no URL.
    pub fn to(endpoint: &str) -> Result<Self, TraceError> {
        let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url)
            .build()?;
        let resource = Resource::builder().with_service_name("tidegate").build();
        Ok(Self(
            SdkTracerProvider::builder()
                .with_batch_exporter(exporter)
                .with_resource(resource)
                .build(),
        ))
    }

    /// The layer that turns spans of this program into spans of the trace.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("tidegate"))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last spans could not be sent");
        }
    }
}
