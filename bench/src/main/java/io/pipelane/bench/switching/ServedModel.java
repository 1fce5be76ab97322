package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.ModelCase;
import io.pipelane.bench.noop.NettyMain;
import io.pipelane.bench.noop.RawAnswer;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.RequestForm;
import io.pipelane.bench.process.ServerLoad;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** One model alone in a server of its own, a process, asked over HTTP. */
final class ServedModel {
  private static final int ROUNDS = 5;
  private static final int STARTS = 3;

  /** Long enough for the server's code to be compiled at some hundred requests a second. */
  private static final Duration WARMUP = Duration.ofSeconds(10);

  private static final Duration ROUND = Duration.ofSeconds(1);

  private final ModelCase modelCase;
  private final List<Tensor> inputs;
  private final Path work;
  private final List<String> settings;

  /** Puts the model into a repository of its own. */
  ServedModel(ModelCase modelCase, List<Tensor> inputs, Path work, Map<String, String> device)
      throws IOException {
    this.modelCase = modelCase;
    this.inputs = inputs;
    this.work = work;
    Path repository = work.resolve("served").resolve(modelCase.name());
    Path file = repository.resolve(modelCase.name()).resolve("1").resolve("model.onnx");
    Files.createDirectories(file.getParent());
    Files.deleteIfExists(file);
    try {
      Files.createLink(file, modelCase.file());
    } catch (IOException | UnsupportedOperationException e) {
      Files.copy(modelCase.file(), file, StandardCopyOption.REPLACE_EXISTING);
    }
    settings = new ArrayList<>();
    device.forEach((key, value) -> settings.add(key + "=" + value));
    settings.add("repository.path=" + repository);
    settings.add("repository.cache=" + work.resolve("cache"));
    settings.add("server.http-port=0");
  }

  /** One client with binary tensors, beside a bare Netty server that answers the same bytes. */
  void measureHttp(Measured measured) throws Exception {
    try (ChildProcess server = start();
        ChildProcess netty = startNetty(server)) {
      ServerLoad serverLoad = ServerLoad.binary(server, modelCase.name(), inputs);
      ServerLoad nettyLoad = ServerLoad.binary(netty, modelCase.name(), inputs);
      serverLoad.run(1, WARMUP);
      nettyLoad.run(1, WARMUP);
      for (int round = 0; round < ROUNDS; round++) {
        measured.of(Row.HTTP).add(serverLoad.run(1, ROUND).millis(50));
        measured.of(Row.ECHO).add(nettyLoad.run(1, ROUND).millis(50));
      }
    }
  }

  /** From the start of a process to its first answer; imports have been made before. */
  void measureStarts(Measured measured) throws Exception {
    for (int i = 0; i < STARTS; i++) {
      long begin = System.nanoTime();
      try (ChildProcess server = start()) {
        ask(server);
        measured.of(Row.STOP_AND_START).add((System.nanoTime() - begin) / 1e6);
      }
    }
  }

  private ChildProcess start() throws IOException, InterruptedException {
    Path log = work.resolve(modelCase.name() + "-server.log");
    return ChildProcess.start(log, ServerMain.class, settings);
  }

  private byte[] ask(ChildProcess server) throws IOException {
    return RawAnswer.ask(
        server.url(), modelCase.name(), RequestForm.BINARY.request(modelCase.name(), inputs));
  }

  private ChildProcess startNetty(ChildProcess server) throws IOException, InterruptedException {
    Path answer = work.resolve(modelCase.name() + "-answer.bin");
    Files.write(answer, ask(server));
    return ChildProcess.start(
        work.resolve("netty.log"), NettyMain.class, List.of(answer.toString(), "1"));
  }
}
