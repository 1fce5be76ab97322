package io.pipelane.bench.frontend;

import io.pipelane.bench.bare.BareGrpcServer;
import io.pipelane.bench.model.NoopModel;
import io.pipelane.bench.noop.NettyMain;
import io.pipelane.bench.noop.RawAnswer;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.RequestForm;
import io.pipelane.bench.process.ServerLoad;
import io.pipelane.bench.process.ServerMain;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;

/** Pipelane and the bare servers beside it, each a process. Used by one thread. */
final class Processes implements AutoCloseable {
  private static final int EVENT_LOOPS =
      Math.max(1, Runtime.getRuntime().availableProcessors() / 2);

  private final Path work;
  private final Deque<ChildProcess> started = new ArrayDeque<>();
  private final ChildProcess pipelane;
  private final URI grpcUrl;

  /** Starts Pipelane and waits until its models are ready. */
  Processes(Path work, Path repository) throws IOException, InterruptedException {
    this.work = work;
    pipelane =
        start(
            "server",
            ServerMain.class,
            List.of(
                "repository.path=" + repository,
                "repository.cache=" + work.resolve("cache"),
                "server.event-loops=" + EVENT_LOOPS,
                "server.http-port=0"));
    try {
      grpcUrl = pipelane.grpcUrl();
    } catch (RuntimeException | InterruptedException e) {
      close();
      throw e;
    }
  }

  /** The server that is measured. */
  ChildProcess pipelane() {
    return pipelane;
  }

  /** The model that does nothing, with a bare server beside it for each form of request. */
  List<Contest> noopContests() throws IOException, InterruptedException {
    List<Contest> contests = new ArrayList<>();
    for (RequestForm form : RequestForm.values()) {
      ChildProcess bare = startBare(form);
      URI served = form == RequestForm.GRPC ? grpcUrl : pipelane.url();
      contests.add(
          new NoopContest(form, load(form, pipelane, served), load(form, bare, bare.url())));
    }
    return contests;
  }

  private static ServerLoad load(RequestForm form, ChildProcess server, URI url) {
    return new ServerLoad(
        server, url, NoopModel.NAME, form.request(NoopModel.NAME, NoopModel.inputs()));
  }

  private ChildProcess startBare(RequestForm form) throws IOException, InterruptedException {
    String name = form.name().toLowerCase(Locale.ROOT);
    String loops = Integer.toString(EVENT_LOOPS);
    return switch (form) {
      case GRPC -> start("bare-" + name, BareGrpcServer.class, List.of(loops));
      case BINARY, JSON -> {
        Path answer = work.resolve(name + "-answer.bin");
        Files.write(
            answer,
            RawAnswer.ask(
                pipelane.url(), NoopModel.NAME, form.request(NoopModel.NAME, NoopModel.inputs())));
        yield start("bare-" + name, NettyMain.class, List.of(answer.toString(), loops));
      }
    };
  }

  private ChildProcess start(String name, Class<?> main, List<String> arguments)
      throws IOException, InterruptedException {
    ChildProcess process =
        ChildProcess.start(work.resolve("front-end-" + name + ".log"), main, arguments);
    started.push(process);
    return process;
  }

  @Override
  public void close() throws IOException {
    while (!started.isEmpty()) {
      started.pop().close();
    }
  }
}
