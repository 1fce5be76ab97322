package io.pipelane.bench.start;

import io.pipelane.loadgen.experiment.LoadRunner;
import io.pipelane.loadgen.request.RequestGenerator;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.server.HttpServerClient;
import io.pipelane.loadgen.server.ServerClient;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Window;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds a rate that a machine bears with the server and the load generator side by side. One thread
 * at a time.
 */
final class Calibration {
  /*
   * What the server can do at most is what it does while each connection always has a request
   * under way. Of that, the largest share at which a short trial finds the generator punctual.
   */
  private static final double[] SHARES = {0.6, 0.4, 0.25, 0.15};

  private static final Duration WARMUP = Duration.ofSeconds(2);
  private static final Duration LENGTH = Duration.ofSeconds(3);
  private static final int OPEN_LOOP_CONNECTIONS = 64;

  private final Endpoint endpoint;
  private final List<ModelRequests> requests;

  private Calibration(Endpoint endpoint, List<ModelRequests> requests) {
    this.endpoint = endpoint;
    this.requests = requests;
  }

  /** Prepares trials with requests for some of a server's models. */
  static Calibration of(URI server, List<String> models, RequestGenerator generator)
      throws InterruptedException {
    Endpoint endpoint = Endpoint.of(server);
    List<ModelRequests> requests = new ArrayList<>();
    try (ServerClient client = new HttpServerClient(endpoint)) {
      for (String model : models) {
        requests.add(generator.generate(client.model(model, "")));
      }
    }
    return new Calibration(endpoint, requests);
  }

  /**
   * Looks for the rate.
   *
   * @param connections that keep the server busy
   * @return whole requests per second, at least 1; if the generator was late in all trials, the
   *     lowest rate tried
   */
  int rate(int connections) throws InterruptedException {
    double most = run(new LoadMode.Closed(connections)).total().perSecond();
    int rate = 1;
    for (double share : SHARES) {
      rate = Math.max(1, (int) Math.floor(share * most));
      ArrivalPattern arrivals = new ArrivalPattern.Poisson(rate);
      LoadReport trial = run(new LoadMode.Open(arrivals, OPEN_LOOP_CONNECTIONS));
      if (trial.bottlenecks().isEmpty()) {
        return rate;
      }
    }
    return rate;
  }

  private LoadReport run(LoadMode mode) throws InterruptedException {
    return LoadRunner.run(
        new LoadTest(
            endpoint,
            requests,
            new ModelChoice.Uniform(),
            mode,
            Window.lasting(WARMUP, LENGTH),
            1,
            ResponseCheck.NONE));
  }
}
