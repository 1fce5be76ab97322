package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.MessageLite;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** A server that may forward its calls to two hosts which answer what the test says. */
@Timeout(60)
abstract class ForwardedCallsFixture {
  static final String MESSAGE = "Content-Type: application/x-protobuf";

  final FakeRegistry registry = new FakeRegistry();
  final BareHost first = host();
  final BareHost second = host();
  private final EchoService echo = EchoService.inline();

  /** What a request waits here for weights, as this server says of itself. */
  volatile long stallNanos;

  Hosts hosts = registry.hosts();
  GrpcConversation conversation = start();

  private static BareHost host() {
    try {
      return new BareHost();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  GrpcConversation start() {
    LocalLoad load = new LocalLoad(echo, _ -> stallNanos, () -> 1);
    GrpcConversation started =
        new GrpcConversation(catalog -> Backends.of(catalog, load), Optional.of(hosts));
    hosts.start(URI.create("http://127.0.0.1:1"), Transport.AUTO.resolve(), started.catalog, load);
    return started;
  }

  @AfterEach
  void end() {
    conversation.close();
    hosts.close();
    first.close();
    second.close();
  }

  static Metadata.Key<String> text(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /** Both hosts have a model that this one has not; the first one is asked first. */
  void bothHave(String model, boolean keepsState) {
    registry.has(first.url(), model, 1, keepsState, Duration.ZERO);
    registry.has(second.url(), model, 1, keepsState, Duration.ofMillis(5));
  }

  ModelInferResponse infer(ModelInferRequest request) {
    return conversation.client().modelInfer(request);
  }

  static ModelInferRequest far() {
    return Inferences.raw("far", 1, 2, 3, 4);
  }

  static ModelInferResponse answer(String id) {
    return ModelInferResponse.newBuilder().setModelName("far").setId(id).build();
  }

  static String bytes(MessageLite message) {
    return new String(message.toByteArray(), StandardCharsets.ISO_8859_1);
  }

  StatusRuntimeException refused(ModelInferRequest request) {
    return assertThrows(StatusRuntimeException.class, () -> infer(request));
  }

  static String description(StatusRuntimeException refusal) {
    return String.valueOf(refusal.getStatus().getDescription());
  }

  long counted(BareHost host, String outcome) {
    return counted(host.url(), outcome);
  }

  long counted(URI host, String outcome) {
    return FakeRegistry.counted(hosts, host, outcome);
  }
}
