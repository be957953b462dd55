//! A collector of traces.

use std::sync::mpsc::{self, Receiver, Sender};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

struct Collector(Sender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send(request.into_inner()).expect("the test listens");
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Starts one on a free port. Returns its URL, and what it receives until the runtime ends.
///
/// # Panics
/// Panics if there is no free port.
#[must_use]
pub fn collect(runtime: &Runtime) -> (String, Receiver<ExportTraceServiceRequest>) {
    let (sender, received) = mpsc::channel();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = Server::builder().add_service(TraceServiceServer::new(Collector(sender)));
    runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    (url, received)
}
