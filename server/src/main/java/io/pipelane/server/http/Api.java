package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.repository.IncomingVersion.Form;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.Demand;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.grpc.AddressedMessage;
import io.pipelane.server.grpc.MessageInferences;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.http.message.Compression;
import io.pipelane.server.http.message.DigestField;
import io.pipelane.server.http.message.RequestHead;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Response.Content;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.ServerFault;
import io.pipelane.server.protocol.Answers;
import io.pipelane.server.protocol.ModelConfigs;
import io.pipelane.server.protocol.RepositoryRequests;
import io.pipelane.server.protocol.StateAnswer;
import io.pipelane.server.protocol.StatisticsAnswer;
import io.pipelane.server.protocol.UploadProgress;
import io.pipelane.server.protocol.VersionChoiceForm;
import io.pipelane.server.state.HostsOverview;
import io.pipelane.server.state.SeenWorkers;
import io.pipelane.server.state.ServerState;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.sharing.monitor.SampleTrace;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The handler of requests: does what each {@link Route} says. Stateless; safe for any event loop.
 */
final class Api {
  private final Backend backend;
  private final ModelCatalog catalog;
  private final InferenceService service;
  private final ServerActivity activity;
  private final Executor codecs;
  private final Uploads uploads = new Uploads();
  private final MessageInferences messages;
  private final StateEvents events;
  private final SettingsApi settings;
  private final JobsApi jobs;
  private final SharedMemoryApi sharedMemory;
  private final WebPage page = new WebPage();
  private final @Nullable Hosts hosts;

  /**
   * Answers from a backend.
   *
   * @param hosts other hosts that may answer; empty where there are none
   * @param codecs runs the decoding and encoding that would hold an event loop for too long
   */
  Api(Backend backend, Optional<Hosts> hosts, ServerActivity activity, Executor codecs) {
    this.backend = backend;
    this.hosts = hosts.orElse(null);
    this.catalog = backend.catalog();
    this.service = backend.service();
    this.activity = activity;
    this.codecs = codecs;
    this.messages = new MessageInferences(backend, codecs);
    this.events = new StateEvents(codecs);
    this.settings = new SettingsApi(backend);
    this.jobs = new JobsApi(backend.jobs(), codecs);
    this.sharedMemory = new SharedMemoryApi(backend.sharedMemory(), codecs);
  }

  /**
   * Answers a request whose body has come, once its event loop has read what has come on all
   * connections, or later; on that loop.
   */
  void handle(Exchange exchange, Route route) {
    if (route instanceof Route.Live) {
      answer(exchange, Answers::live);
      return;
    }
    if (route instanceof Route.Ready && activity.isDraining()) {
      answerReady(exchange, false);
      return;
    }
    try {
      begin(exchange);
    } catch (StatusException e) {
      exchange.answer(e);
      return;
    }
    LaterAnswer.onLoop(exchange, () -> answerOrForward(exchange, route), () -> {});
  }

  /**
   * Behind the reads, so that what reads and what runs each finds its code in the processor's
   * caches, and so that this host's load counts the requests before this one.
   */
  private void answerOrForward(Exchange exchange, Route route) {
    if (route instanceof Route.Infer ? exchange.hasNoClient() : exchange.isAbandoned()) {
      return; // What it holds goes as the connection is found to be closed.
    }
    Hosts others = hosts;
    if (others != null) {
      exchange.setWaited(others.waitedNanos(exchange.headers(), exchange.peer()));
    }
    if (others == null
        || !ForwardedRun.begin(
            others, backend, exchange, route, body -> answerHere(exchange, route, body))) {
      answerHere(exchange, route, exchange.takeBody());
    }
  }

  /** Answers from a whole body as it came, which it takes over. */
  private void answerHere(Exchange exchange, Route route, ByteBuf body) {
    Compression compression = exchange.compression();
    if (compression == null) {
      answer(exchange, route, body);
    } else {
      decompress(exchange, route, compression, body);
    }
  }

  AccessControl access() {
    return backend.access();
  }

  /**
   * Begins to take a version in, before its body has come.
   *
   * @return false when it is refused, and answered; the connection must not go on then
   */
  boolean beginUpload(Exchange exchange, RequestHead head, Route.Upload route) {
    try {
      begin(exchange);
      ByteSize limit = catalog.uploadLimit();
      if (head.contentLength() > limit.bytes()) {
        throw new StatusException(
            Status.TOO_LARGE,
            "the upload of %d bytes is larger than repository.upload-limit, %s"
                .formatted(head.contentLength(), limit));
      }
      Form form = head.isZip() ? Form.ZIP : Form.MODEL;
      Optional<byte[]> digest = DigestField.sha256(head.headers().get(DigestField.NAME));
      exchange.setUpload(
          UploadRun.start(
              exchange,
              route,
              () -> catalog.receive(route.model(), route.version(), form),
              digest,
              head.contentLength(),
              uploads));
      return true;
    } catch (StatusException e) {
      exchange.answer(Response.error(e, exchange.allocator()).closing());
      return false;
    }
  }

  /**
   * Counts a request as running.
   *
   * @throws StatusException when the server drains
   */
  private void begin(Exchange exchange) {
    if (!activity.begin()) {
      throw StatusException.shuttingDown();
    }
    exchange.setCounted();
  }

  /** The executor for what would hold an event loop for too long. */
  Executor codecs() {
    return codecs;
  }

  /** Decompresses on a codec thread and goes back to the event loop. */
  private void decompress(
      Exchange exchange, Route route, Compression compression, ByteBuf compressed) {
    try {
      codecs.execute(
          () -> {
            try {
              ByteBuf body =
                  compression.decompress(compressed, exchange.bodyLimit(), exchange.allocator());
              LaterAnswer.onLoop(exchange, () -> answer(exchange, route, body), body::release);
            } catch (RuntimeException | OutOfMemoryError e) {
              LaterAnswer.onLoop(
                  exchange, () -> exchange.answer(ServerFault.unlessSaid(e)), () -> {});
            } finally {
              compressed.release();
            }
          });
    } catch (RejectedExecutionException e) {
      compressed.release();
      exchange.answer(CodecThreads.busy("decompressing"));
    }
  }

  /** Answers from a whole body, which it takes over. */
  private void answer(Exchange exchange, Route route, ByteBuf body) {
    try {
      if (exchange.isAbandoned()) {
        return;
      }
      dispatch(exchange, route, body);
    } catch (RuntimeException | OutOfMemoryError e) {
      exchange.answer(ServerFault.unlessSaid(e));
    } finally {
      body.release();
    }
  }

  /** What may be seen with a key as it is now: a stream may outlive it. */
  private ServerState stateFor(Demand demand, HttpHeaders headers) {
    return backend.state().read(Admission.caller(backend.access(), demand, headers)::sees);
  }

  private void dispatch(Exchange exchange, Route route, ByteBuf body) {
    switch (route) {
      case Route.ServerMetadata _ -> {
        List<String> extensions = Answers.extensions(backend.sharedMemory().isOn());
        answer(exchange, target -> Answers.server(target, extensions));
      }
      case Route.Live _ -> answer(exchange, Answers::live);
      case Route.Ready _ -> answerReady(exchange, backend.isReady());
      case Route.ModelMetadata(String name, String version) -> {
        ServedModel model = backend.resolve(name, version);
        String platform = ModelConfigs.platform(catalog.declared(model.version()));
        answer(exchange, target -> Answers.model(target, model, platform));
      }
      case Route.ModelReady(String name, String version) -> {
        ServedModel model = backend.resolve(name, version);
        answer(exchange, target -> Answers.modelReady(target, model));
      }
      case Route.ModelConfiguration(String name, String version) -> {
        ServedModel model = backend.resolve(name, version);
        ModelConfig config = ModelConfigs.of(model, catalog.declared(model.version()));
        answer(exchange, target -> ModelConfigs.write(target, config));
      }
      case Route.Infer(String name, String version) -> {
        if (MessageRun.isOf(exchange)) {
          MessageRun.start(exchange, messages, new AddressedMessage(body, name, version));
        } else {
          new InferStart(exchange, backend, codecs, name, version, body).begin();
        }
      }
      case Route.Statistics(String name, String version) -> {
        List<ModelCounters> models =
            backend.statisticsOf(name, version).stream()
                .filter(model -> exchange.caller().sees(model.version().model()))
                .toList();
        GatheredAnswer.start(
            exchange,
            Content.JSON,
            target -> StatisticsAnswer.write(target, models, backend.state().held()),
            codecs);
      }
      case Route.Metrics _ ->
          GatheredAnswer.start(
              exchange,
              Content.METRICS,
              target -> GatheredAnswer.write(backend.metrics(), target),
              codecs);
      case Route.State _ ->
          GatheredAnswer.start(
              exchange,
              Content.JSON,
              target -> StateAnswer.write(target, backend.state().read(exchange.caller()::sees)),
              codecs);
      case Route.Samples _ ->
          GatheredAnswer.start(
              exchange,
              Content.VALUES,
              target -> ByteBufUtil.writeUtf8(target, SampleTrace.of(service.samples())),
              codecs);
      case Route.Events _ -> {
        HttpHeaders headers = exchange.headers();
        events.open(exchange, () -> stateFor(route.demand(), headers));
      }
      case Route.Changes _ -> {
        HttpHeaders headers = exchange.headers();
        events.openChanges(exchange, () -> stateFor(route.demand(), headers));
      }
      case Route.Page(String file) -> page.answer(exchange, file);
      case Route.Index _ -> {
        List<Entry> entries = index(RepositoryRequests.onlyReady(body), exchange.caller());
        answer(exchange, target -> Answers.index(target, entries));
      }
      case Route.Load(String name) ->
          whenChanged(
              exchange, load(name, body, exchange.caller()::checkManages), name + " is loaded");
      case Route.Unload(String name) -> {
        boolean dependents = RepositoryRequests.unloadsDependents(body);
        whenChanged(
            exchange,
            dependents
                ? catalog.unloadWithDependents(name, exchange.caller()::checkManages)
                : catalog.unload(name),
            ManagementLog.unloaded(name, dependents));
      }
      case Route.Versions(String name) -> answerVersions(exchange, name);
      case Route.ChooseVersions(String name) -> {
        CompletableFuture<Void> chosen = catalog.choose(name, VersionChoiceForm.read(body));
        LaterAnswer.whenDone(
            exchange,
            ManagementLog.tellWhenDone(
                chosen, exchange.caller(), "the versions and labels of " + name + " are chosen"),
            () -> answerVersions(exchange, name));
      }
      case Route.Options(String name) -> {
        CompletableFuture<byte[]> options = catalog.options(name);
        LaterAnswer.whenDone(
            exchange, options.thenAccept(_ -> {}), () -> answerOptions(exchange, options.join()));
      }
      case Route.ChangeOptions(String name) ->
          whenChanged(
              exchange,
              catalog.changeOptions(
                  name, ByteBufUtil.getBytes(body), exchange.caller()::checkManages),
              "the options of " + name + " are changed");
      case Route.StoredVersion(String name, String version) ->
          answerProgress(exchange, name, version);
      case Route.Upload _ -> throw new IllegalStateException(route + " is not answered here");
      case Route.Delete(String name, String version) ->
          whenChanged(
              exchange,
              catalog.delete(name, version).thenRun(() -> uploads.forget(name, version)),
              name + "/" + version + " is deleted");
      case Route.OfSettings ofSettings -> settings.answer(exchange, ofSettings, body);
      case Route.OfSharedMemory ofMemory -> sharedMemory.answer(exchange, ofMemory, body);
      case Route.Workers _ -> {
        SeenWorkers workers = new SeenWorkers(service.workers(), exchange.caller()::sees);
        answer(exchange, target -> Answers.workers(target, workers));
      }
      case Route.OtherHosts _ -> {
        HostsOverview overview = hosts == null ? HostsOverview.ALONE : hosts.overview();
        answer(exchange, target -> Answers.hosts(target, overview));
      }
      case Route.Recycle(int worker) ->
          whenChanged(exchange, service.recycle(worker), "worker " + worker + " is recycled");
      case Route.OfJobs ofJobs -> jobs.answer(exchange, ofJobs, body);
    }
  }

  /** Answers, and logs, once something is changed. */
  private static void whenChanged(Exchange exchange, CompletableFuture<Void> change, String what) {
    LaterAnswer.whenDone(exchange, ManagementLog.tellWhenDone(change, exchange.caller(), what));
  }

  private List<Entry> index(boolean onlyReady, Caller caller) {
    return catalog.index().stream()
        .filter(entry -> caller.sees(entry.name()))
        .filter(entry -> !onlyReady || entry.state() == State.READY)
        .toList();
  }

  /** What has become of an upload, and of the version in service. */
  private void answerProgress(Exchange exchange, String name, String version) {
    Optional<UploadProgress> upload = uploads.progress(name, version);
    Optional<Entry> entry =
        catalog.index().stream()
            .filter(each -> each.name().equals(name) && each.version().equals(version))
            .findFirst();
    if (upload.isEmpty() && entry.isEmpty()) {
      throw Uploads.unknown(name, version);
    }
    answer(exchange, target -> Answers.upload(target, name, version, upload, entry));
  }

  private void answerVersions(Exchange exchange, String name) {
    VersionChoice choice = catalog.choice(name);
    List<Entry> entries =
        catalog.index().stream().filter(entry -> entry.name().equals(name)).toList();
    answer(exchange, target -> VersionChoiceForm.write(target, name, choice, entries));
  }

  private static void answerOptions(Exchange exchange, byte[] yaml) {
    exchange.answer(
        Response.of(
            HttpResponseStatus.OK,
            Content.OPTIONS,
            List.of(),
            exchange.allocator(),
            target -> target.writeBytes(yaml)));
  }

  private static void answer(Exchange exchange, Consumer<ByteBuf> writer) {
    exchange.answer(Response.ok(exchange.allocator(), writer));
  }

  private static void answerReady(Exchange exchange, boolean ready) {
    HttpResponseStatus status =
        ready ? HttpResponseStatus.OK : HttpResponseStatus.SERVICE_UNAVAILABLE;
    exchange.answer(
        Response.of(status, exchange.allocator(), target -> Answers.ready(target, ready)));
  }

  /** Files that come along are decoded on a codec thread. */
  private CompletableFuture<Void> load(String name, ByteBuf body, Consumer<String> permission) {
    if (body.readableBytes() <= CodecThreads.LARGEST_ON_LOOP) {
      return catalog.load(name, RepositoryRequests.load(body), permission);
    }
    body.retain();
    try {
      return CompletableFuture.supplyAsync(() -> decodedLoad(body), codecs)
          .thenCompose(options -> catalog.load(name, options, permission));
    } catch (RejectedExecutionException e) {
      body.release();
      throw CodecThreads.busy("decoding");
    }
  }

  private static LoadOptions decodedLoad(ByteBuf body) {
    try {
      return RepositoryRequests.load(body);
    } finally {
      body.release();
    }
  }
}
