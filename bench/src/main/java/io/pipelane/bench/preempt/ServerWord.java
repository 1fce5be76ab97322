package io.pipelane.bench.preempt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.switcher.schedule.turn.Preemptions;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/**
 * The counts that a server has told so far of a model's requests.
 *
 * @param requests answered
 * @param queueNanos that they waited for a lane, all together
 * @param stallNanos that their runs waited for weights
 * @param preemptions of all models
 */
record ServerWord(long requests, long queueNanos, long stallNanos, Preemptions preemptions) {
  private static final double NANOS_PER_MILLI = 1e6;

  /** Asks for a model's statistics. */
  static ServerWord of(HttpClient http, URI server, String model, Preemptions preemptions)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(server.resolve("/v2/models/" + model + "/stats")).build();
    byte[] body = http.send(request, HttpResponse.BodyHandlers.ofByteArray()).body();
    JsonNode stats = new ObjectMapper().readTree(body).at("/model_stats/0/inference_stats");
    return new ServerWord(
        stats.at("/success/count").asLong(),
        stats.at("/queue/ns").asLong(),
        stats.at("/stall/ns").asLong(),
        preemptions);
  }

  /** The mean wait for a lane of the requests since an earlier word, in milliseconds. */
  double queueMillisSince(ServerWord earlier) {
    return (queueNanos - earlier.queueNanos) / NANOS_PER_MILLI / requestsSince(earlier);
  }

  /** The mean wait for weights. */
  double stallMillisSince(ServerWord earlier) {
    return (stallNanos - earlier.stallNanos) / NANOS_PER_MILLI / requestsSince(earlier);
  }

  private double requestsSince(ServerWord earlier) {
    return Math.max(1, requests - earlier.requests);
  }

  /** Requests since then that went before a run. */
  long preemptingSince(ServerWord earlier) {
    return preemptions.requests() - earlier.preemptions.requests();
  }

  /** Their mean time from submission to their first segment, in milliseconds. */
  double firstSegmentMillisSince(ServerWord earlier) {
    long nanos = preemptions.waitNanos() - earlier.preemptions.waitNanos();
    return nanos / NANOS_PER_MILLI / preemptingSince(earlier);
  }
}
