package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.netty.channel.EventLoop;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.access.Caller;
import io.pipelane.server.hosts.ForwardedHeaders;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.Hosts.Elsewhere;
import io.pipelane.server.net.Backend;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The decision which inferences, and questions about models, another host is to answer. Safe for
 * any thread.
 */
final class CallForwarding {
  private static final Metadata.Key<String> MARK =
      Metadata.Key.of(ForwardedHeaders.MARK, Metadata.ASCII_STRING_MARSHALLER);

  private final Hosts hosts;
  private final InferenceParts parts;
  private final int maxMessageBytes;

  /**
   * Decides by what the hosts have said.
   *
   * @param maxMessageBytes the most that another host takes as the body of a request
   */
  CallForwarding(Hosts hosts, InferenceParts parts, int maxMessageBytes) {
    this.hosts = hosts;
    this.parts = parts;
    this.maxMessageBytes = maxMessageBytes;
  }

  /**
   * Gives an inference to another host where that is better; on the call's event loop.
   *
   * @param metadata as the client sent it
   * @param end may be told before this returns
   * @return null where this host is to answer
   * @throws StatusException {@link Status#TOO_LARGE} when only others could answer, and it is too
   *     large for them
   */
  @Nullable ForwardedCall begin(
      ModelInferRequest message, Metadata metadata, CallOrigin origin, ForwardedCall.End end) {
    Optional<Elsewhere> elsewhere =
        elsewhere(message.getModelName(), message.getModelVersion(), metadata, origin.caller())
            .filter(_ -> !namesMemoryOfThisHost(message));
    if (elsewhere.isEmpty()) {
      return null;
    }
    ModelInferRequest named = naming(elsewhere.get(), message);
    int size = named.getSerializedSize();
    if (size <= maxMessageBytes) {
      return ForwardedCall.begin(elsewhere.get(), named, metadata, parts, end);
    }
    if (elsewhere.get().canComeBack()) {
      return null;
    }
    throw new StatusException(
        Status.TOO_LARGE,
        "the message of %d bytes is larger than server.max-request-size, %d bytes"
            .formatted(size, maxMessageBytes));
  }

  private static ModelInferRequest naming(Elsewhere where, ModelInferRequest message) {
    return message.getModelVersion().equals(where.version())
        ? message
        : message.toBuilder().setModelVersion(where.version()).build();
  }

  /**
   * Puts a question about a model that is not here to another host; on the call's event loop.
   *
   * @param version as the client named it; empty where he named none
   * @param what of the model is asked for, as the end of a path
   * @return false where this host is to answer
   */
  boolean ask(
      String model,
      String version,
      String what,
      Metadata metadata,
      Caller caller,
      ForwardedQuestion<?> question) {
    if (parts.backend().find(model, version) != null) {
      return false;
    }
    Optional<Elsewhere> elsewhere = elsewhere(model, version, metadata, caller);
    String ofVersion = version.isEmpty() ? "" : "/versions/" + ForwardedCall.segment(version);
    elsewhere.ifPresent(
        where ->
            question.begin(
                where,
                (EventLoop) parts.loop(),
                "/v2/models/" + ForwardedCall.segment(model) + ofVersion + what,
                ForwardedCall.headers(metadata)));
    return elsewhere.isPresent();
  }

  private Optional<Elsewhere> elsewhere(
      String model, String version, Metadata metadata, Caller caller) {
    boolean isForbidden = !caller.sees(model); // This host says so.
    if (isForbidden || metadata.containsKey(MARK)) {
      return Optional.empty();
    }
    Backend backend = parts.backend();
    return hosts.elsewhere(
        model, version, backend.find(model, version), () -> backend.refusal(model, version));
  }

  /** Whether inputs or outputs lie in shared memory, which other hosts do not see. */
  private static boolean namesMemoryOfThisHost(ModelInferRequest message) {
    return message.getInputsList().stream()
            .anyMatch(input -> RegionParameters.areIn(input.getParametersMap()))
        || message.getOutputsList().stream()
            .anyMatch(output -> RegionParameters.areIn(output.getParametersMap()));
  }
}
