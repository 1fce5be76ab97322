package io.pipelane.bench.process;

import io.pipelane.demo.protocol.Tensor;
import io.pipelane.loadgen.experiment.LoadRunner;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Window;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** One request, sent to a server in a process of its own over and over. */
public final class ServerLoad {
  private final ChildProcess server;
  private final URI url;
  private final ModelRequests requests;

  /**
   * A load that is not begun yet.
   *
   * @param url where the server takes such requests; the scheme {@code grpc} says that they are
   *     messages
   */
  public ServerLoad(ChildProcess server, URI url, String model, PreparedRequest request) {
    this.server = server;
    this.url = url;
    this.requests = ModelRequests.infer(model, List.of(request));
  }

  /** Tensors as bytes both ways, over HTTP. */
  public static ServerLoad binary(ChildProcess server, String model, List<Tensor> inputs) {
    return new ServerLoad(server, server.url(), model, RequestForm.BINARY.request(model, inputs));
  }

  /**
   * What was measured of one stretch of load.
   *
   * @param serverCpu processor time of the server's process during the stretch
   */
  public record Measured(LoadReport report, Duration serverCpu) {
    public double perSecond() {
      return report.total().perSecond();
    }

    /** Response time in milliseconds at a percentile from 0 to 100. */
    public double millis(double percentile) {
      return report.total().responseNanos().getValueAtPercentile(percentile) / 1e6;
    }

    /** Seconds of processor time that the load itself took, the whole of this process. */
    public double clientCpuSeconds() {
      return report.cpu().process().toNanos() / 1e9;
    }

    public double serverCpuSeconds() {
      return serverCpu.toNanos() / 1e9;
    }

    public double seconds() {
      return report.window().toNanos() / 1e9;
    }

    /** Microseconds of the server's processor time for each answer. */
    public double serverCpuMicros() {
      return serverCpu.toNanos() / 1e3 / Math.max(1, report.total().answered());
    }

    /**
     * Answers per second that the server would have given with the client's processor time to
     * itself: the client shares the machine with it.
     */
    public double perSecondWithoutClient(int cores) {
      return perSecond() / (1 - clientCpuSeconds() / (cores * seconds()));
    }
  }

  /** Sends for a while over so many connections, each with one request at a time. */
  public Measured run(int connections, Duration length) throws InterruptedException {
    LoadTest test =
        new LoadTest(
            Endpoint.of(url),
            List.of(requests),
            new ModelChoice.Uniform(),
            new LoadMode.Closed(connections),
            Window.lasting(Duration.ZERO, length),
            1,
            ResponseCheck.NONE);
    Duration before = server.cpu();
    LoadReport report = LoadRunner.run(test);
    return new Measured(report, server.cpu().minus(before));
  }
}
