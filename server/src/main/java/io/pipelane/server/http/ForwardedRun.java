package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.hosts.Forward;
import io.pipelane.server.hosts.ForwardedHeaders;
import io.pipelane.server.hosts.ForwardingAttempts;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.Hosts.Elsewhere;
import io.pipelane.server.http.message.InferenceHeader;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Response.Content;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.http.message.UriPath;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.protocol.inference.RequestTimeout;
import io.pipelane.server.shared.SharedMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request that another host is to answer. On its exchange's event loop.
 *
 * <p>Its body is kept until there is an answer. Its answer is collected before any of it goes to
 * the client, so that another host, or this one, can be asked when one breaks off.
 */
final class ForwardedRun implements ForwardingAttempts.End {
  private static final String STALL = "Pipelane-Stall-Us";

  /** Fields of an answer that are passed on besides what is said of its content. */
  private static final List<String> PASSED =
      List.of("Retry-After", "WWW-Authenticate", "traceparent");

  private final Exchange exchange;
  private final ByteBuf body;
  private final Consumer<ByteBuf> here;
  private final Forward.Patience patience;

  /** Null until the first host has been asked. */
  private @Nullable ForwardingAttempts attempts;

  private ForwardedRun(
      Exchange exchange, ByteBuf body, long timeoutMicros, Consumer<ByteBuf> here) {
    this.exchange = exchange;
    this.patience = new Forward.Patience(System.nanoTime(), timeoutMicros);
    this.body = body;
    this.here = here;
  }

  /** The model that a route asks, and how. */
  private record Asked(String model, String version, boolean runs) {
    static @Nullable Asked of(Route route) {
      return switch (route) {
        case Route.Infer(String model, String version) -> new Asked(model, version, true);
        case Route.ModelMetadata(String model, String version) -> new Asked(model, version, false);
        case Route.ModelReady(String model, String version) -> new Asked(model, version, false);
        case Route.ModelConfiguration(String model, String version) ->
            new Asked(model, version, false);
        default -> null;
      };
    }
  }

  /**
   * Gives a request to another host where that is better.
   *
   * @param here what to do with the body when this host is to answer after all
   * @return whether it was, and the body with it
   */
  static boolean begin(
      Hosts hosts, Backend backend, Exchange exchange, Route route, Consumer<ByteBuf> here) {
    Asked asked = Asked.of(route);
    if (asked == null || mayNotGo(exchange.headers())) {
      return false;
    }
    @Nullable ServedModel model = backend.find(asked.model, asked.version);
    if (model != null && !asked.runs) {
      return false;
    }
    Optional<Elsewhere> elsewhere =
        hosts.elsewhere(
            asked.model, asked.version, model, () -> backend.refusal(asked.model, asked.version));
    if (elsewhere.isEmpty() || (asked.runs && namesMemoryOfThisHost(backend, exchange))) {
      return false;
    }
    ByteBuf body = exchange.takeBody();
    String target =
        model == null ? exchange.target() : naming(elsewhere.get().version(), exchange.target());
    long timeoutMicros = asked.runs ? timeoutMicros(exchange, body) : 0;
    new ForwardedRun(exchange, body, timeoutMicros, here).begin(elsewhere.get(), target);
    return true;
  }

  /** The target of an inference that names a version, in place of what was named by the client. */
  private static String naming(String version, String target) {
    String model = UriPath.segments(target).get(2);
    return "/v2/models/" + model + "/versions/" + version + "/infer";
  }

  /**
   * Whether a request has come from another host, or would, marked as by this one, be taken for a
   * message of its own.
   */
  private static boolean mayNotGo(HttpHeaders headers) {
    return headers.contains(ForwardedHeaders.MARK) || MessageRun.looksLikeOne(headers);
  }

  /**
   * Whether inputs or outputs may lie in shared memory, which other hosts do not see. A request
   * that would take long to look through may while there is a region; otherwise the other host
   * refuses it.
   */
  private static boolean namesMemoryOfThisHost(Backend backend, Exchange exchange) {
    SharedMemory memory = backend.sharedMemory();
    return memory.isOn()
        && (exchange.compression() == null ? mayNameRegion(exchange, memory) : memory.isInUse());
  }

  private static boolean mayNameRegion(Exchange exchange, SharedMemory memory) {
    ByteBuf body = exchange.body().peek();
    try {
      int json = InferenceHeader.jsonLength(exchange.headers(), body.readableBytes());
      return json > CodecThreads.LARGEST_ON_LOOP
          ? memory.isInUse()
          : InferStart.namesRegion(body.slice(body.readerIndex(), json));
    } catch (StatusException e) {
      return true; // This host says what is wrong with it.
    }
  }

  /** How long the client waits; 0 where he has not said, or the request would take long to read. */
  private static long timeoutMicros(Exchange exchange, ByteBuf body) {
    if (exchange.compression() != null) {
      return 0;
    }
    try {
      int json = InferenceHeader.jsonLength(exchange.headers(), body.readableBytes());
      return json > CodecThreads.LARGEST_ON_LOOP
          ? 0
          : RequestTimeout.microsIn(body.slice(body.readerIndex(), json));
    } catch (StatusException e) {
      return 0; // The other host says what is wrong with it.
    }
  }

  private void begin(Elsewhere elsewhere, String target) {
    HttpMethod method = exchange.isHeadOnly() ? HttpMethod.GET : exchange.method();
    exchange.whenAbandoned(
        () -> {
          if (attempts != null) {
            attempts.cancel();
          }
          body.release();
        });
    attempts =
        elsewhere.begin(
            (EventLoop) exchange.loop(), method, target, exchange.headers(), body, patience, this);
  }

  @Override
  public void answered(Forward.Answer answer) {
    exchange.whenAbandoned(() -> {}); // It may still be, while the answer is compressed.
    body.release();
    exchange.answer(response(answer));
  }

  @Override
  public void here() {
    exchange.whenAbandoned(() -> {});
    exchange.setWaited(System.nanoTime() - patience.cameNanos());
    here.accept(body);
  }

  @Override
  public void failed(StatusException error) {
    exchange.whenAbandoned(() -> {});
    body.release();
    exchange.answer(error);
  }

  private Response response(Forward.Answer answer) {
    List<String> fields = new ArrayList<>();
    for (String name : PASSED) {
      String value = answer.field(name);
      if (value != null) {
        fields.add(name + ": " + value);
      }
    }
    String type = answer.headers().get(HttpHeaderNames.CONTENT_TYPE, "");
    Content content = type.startsWith(Content.BINARY.mediaType()) ? Content.BINARY : Content.JSON;
    long stallMicros = answer.number(STALL);
    return new Response(
        HttpResponseStatus.valueOf(answer.status().code()), // Its reason may be of any length.
        Response.newBody(exchange.allocator()),
        answer.body(),
        content,
        (int) answer.number(InferenceHeader.NAME),
        stallMicros < 0 ? -1 : stallMicros * 1000,
        fields,
        false);
  }
}
