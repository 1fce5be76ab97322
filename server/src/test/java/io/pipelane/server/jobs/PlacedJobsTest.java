package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.metrics.PlacementCounts;
import io.pipelane.server.placement.FakeDevices;
import io.pipelane.server.placement.JobPlace;
import io.pipelane.server.placement.JobPlacement;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.NeverFits;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs that are given one of several devices each. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PlacedJobsTest {
  private static final int ITEMS = 40;

  @TempDir private Path folder;
  private final FakeDevices devices = new FakeDevices("a", "b");
  private JobsFixture fixture = new JobsFixture(Path.of(""));

  @BeforeEach
  void writeInput() throws IOException {
    fixture = new JobsFixture(folder);
    fixture.writeInput("in.jsonl", ITEMS);
  }

  private JobPlacement placement() throws IOException {
    JobPlacement placement = devices.open(folder.resolve("placement"));
    devices.look(placement);
    return placement;
  }

  /** Passes on what is asked, and notes where; does what a test wants before some request. */
  private static final class Watched implements InferenceService {
    final ConcurrentLinkedQueue<String> asked = new ConcurrentLinkedQueue<>();

    /** Devices that take no requests. */
    final Set<String> full = ConcurrentHashMap.newKeySet();

    private final InferenceService service;
    private final int at;
    private final Runnable then;

    Watched(InferenceService service, int at, Runnable then) {
      this.service = service;
      this.at = at;
      this.then = then;
    }

    @Override
    public Ticket submit(InferenceRequest request, ResultHandler handler) {
      String device = request.place().device().orElse("any");
      asked.add(device);
      if (asked.size() == at) {
        then.run();
      }
      if (full.contains(device)) {
        throw new StatusException(Status.UNAVAILABLE, "the queue of " + device + " is full");
      }
      return service.submit(request, handler);
    }

    @Override
    public Optional<SequenceState> sequence(ModelVersion model, String id) {
      return service.sequence(model, id);
    }

    List<String> devices() {
      return asked.stream().distinct().toList();
    }
  }

  /** Online work comes to a device, and the time of a matching. */
  private void crowd(JobPlacement placement, String device) {
    devices.ask(device, 0.5);
    devices.interval(placement);
  }

  @Test
  void jobThatMoves_losesAndRepeatsNoRow() throws IOException {
    try (JobPlacement placement = placement()) {
      Watched service = new Watched(EchoService.inline(), 17, () -> crowd(placement, "a"));
      try (Jobs jobs = fixture.open(service, placement, 1)) {
        String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
        assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      }
      assertEquals(JobsFixture.rows(ITEMS), fixture.output("o"));
      assertEquals(List.of("a", "b"), service.devices());
      assertEquals(ITEMS, service.asked.size(), "items under way are not asked for again");
      assertEquals(1, placement.counts().moves());
    }
  }

  @Test
  void jobWithState_takesItAlong() throws IOException {
    try (Jobs jobs = fixture.open(new SummingService())) {
      JobsFixture.ended(jobs, jobs.submit(JobsFixture.sumRequest(3), Caller.ANYBODY).spec().id());
    }
    JobsFixture moved = new JobsFixture(Files.createDirectory(folder.resolve("m")));
    moved.writeInput("in.jsonl", ITEMS);
    SummingService sums = new SummingService();
    try (JobPlacement placement = placement()) {
      Watched service = new Watched(sums, 61, () -> crowd(placement, "a"));
      try (Jobs jobs = moved.open(service, placement, 1)) {
        String id = jobs.submit(JobsFixture.sumRequest(3), Caller.ANYBODY).spec().id();
        assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      }
      assertEquals(List.of("a", "b"), service.devices());
      assertEquals(3 * ITEMS, service.asked.size(), "no step is done twice");
    }
    assertEquals(fixture.output("out.jsonl"), moved.output("out.jsonl"));
    assertEquals(0, sums.sequences());
  }

  private void lose(JobPlacement placement, String device) {
    devices.lose(device);
    devices.look(placement);
  }

  /** It has no device meanwhile, and is given another one when its model is back. */
  @Test
  void jobWhoseModelIsOutOfService_goesOnWhereThereIsADeviceThen() throws IOException {
    try (JobPlacement placement = placement()) {
      Watched service =
          new Watched(EchoService.inline(), 17, () -> fixture.catalog.gone.add("echo"));
      try (Jobs jobs = fixture.open(service, placement, 1)) {
        String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
        while (!jobs.show(id).reason().contains("is unknown")) {
          Thread.onSpinWait();
        }
        while (jobs.show(id).place().isPresent()) {
          Thread.onSpinWait();
        }
        lose(placement, "a");
        fixture.catalog.gone.clear();
        assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      }
      assertEquals(JobsFixture.rows(ITEMS), fixture.output("o"));
      assertEquals(ITEMS, service.asked.size());
    }
  }

  @Test
  void jobWhoseDeviceTakesNothing_isAskedForWhereItMovesTo() throws IOException {
    try (JobPlacement placement = placement()) {
      AtomicReference<Watched> asked = new AtomicReference<>();
      Watched service =
          new Watched(
              new SummingService(),
              61,
              () -> {
                asked.get().full.add("a");
                lose(placement, "a");
              });
      asked.set(service);
      try (Jobs jobs = fixture.open(service, placement, 1)) {
        String id = jobs.submit(JobsFixture.sumRequest(3), Caller.ANYBODY).spec().id();
        assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      }
      assertEquals(3 * ITEMS + 1, service.asked.size(), "one step was refused");
    }
    String last = fixture.output("out.jsonl").lines().toList().getLast();
    int sum = 3 * ITEMS * (ITEMS - 1) / 2;
    assertTrue(last.contains("\"data\":[%d.0,".formatted(sum)), last);
  }

  private static void completeAll(EchoService service) {
    while (!service.pending.isEmpty()) {
      service.pending.removeFirst().complete();
    }
  }

  /** It is told so as its second item comes, and the other device is held before it has left. */
  @Test
  void jobThatIsToMoveAndThenToStay_asksForTheItemsThatCameMeanwhile() throws IOException {
    EchoService other = EchoService.holding();
    EchoService told = EchoService.holding();
    ModelVersion model = new ModelVersion("background", 2);
    try (JobPlacement placement = placement()) {
      Watched service =
          new Watched(
              told,
              1,
              () -> {
                devices.serve(model, "a");
                devices.look(placement);
              });
      InferenceService both =
          (request, handler) ->
              (request.model().equals(model) ? service : other).submit(request, handler);
      try (Jobs jobs = fixture.open(both, placement, 2);
          other;
          told) {
        String first = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
        while (other.pending.size() < 3) {
          Thread.onSpinWait();
        }
        String second = jobs.submit(background("p"), Caller.ANYBODY).spec().id();
        while (told.pending.isEmpty()) {
          Thread.onSpinWait();
        }
        devices.become("b", SharingState.UNHEALTHY);
        devices.look(placement);
        completeAll(other);
        while (other.pending.isEmpty()) { // It has begun again where it was.
          Thread.onSpinWait();
        }
        while (!jobs.show(first).state().isEnd() || !jobs.show(second).state().isEnd()) {
          completeAll(other);
          completeAll(told);
        }
        assertEquals(JobState.DONE, jobs.show(first).state());
        assertEquals(JobState.DONE, jobs.show(second).state());
      }
      assertEquals(List.of("b"), service.devices());
      assertEquals(ITEMS, service.asked.size());
    }
  }

  private static byte[] background(String output) {
    return "{\"model\":\"background\",\"input_file\":\"in.jsonl\",\"output_file\":\"%s\"}"
        .formatted(output)
        .getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void jobsBeyondTheDevices_waitAndSayForWhat() throws IOException {
    EchoService service = EchoService.holding();
    try (JobPlacement placement = placement();
        Jobs jobs = fixture.open(service, placement, 3);
        service) {
      devices.become("b", SharingState.UNHEALTHY);
      devices.look(placement);
      String first = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String second = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      while (service.pending.isEmpty() || !jobs.show(second).reason().equals(JobLine.NO_DEVICE)) {
        Thread.onSpinWait();
      }
      assertEquals(JobState.QUEUED, jobs.show(second).state());
      assertEquals(
          new JobPlace("a", JobPlace.By.RULE, 0.96, 0), jobs.show(first).place().orElseThrow());
      String answer = new String(JobAnswers.job(jobs.show(first)), StandardCharsets.UTF_8);
      assertTrue(
          answer.endsWith(
              "\"place\":{\"device\":\"a\",\"by\":\"rule\",\"predicted_throughput\":0.96,\"moves\":0}}"),
          answer);
      devices.become("b", SharingState.HEALTHY);
      devices.look(placement);
      while (jobs.show(second).place().isEmpty()) {
        Thread.onSpinWait();
      }
      assertEquals("b", jobs.show(second).place().orElseThrow().device());
      while (!jobs.show(first).state().isEnd() || !jobs.show(second).state().isEnd()) {
        while (!service.pending.isEmpty()) {
          service.pending.removeFirst().complete();
        }
      }
    }
    assertEquals(JobsFixture.rows(ITEMS), fixture.output("o"));
    assertEquals(JobsFixture.rows(ITEMS), fixture.output("p"));
  }

  /** Passes on what is asked of other devices; some have too little memory for any request. */
  private static Watched tooSmall(String... devices) {
    EchoService echo = EchoService.inline();
    InferenceService service =
        (request, handler) -> {
          String device = request.place().device().orElseThrow();
          if (List.of(devices).contains(device)) {
            throw NeverFits.refusal("it may have 1GiB on " + device);
          }
          return echo.submit(request, handler);
        };
    return new Watched(service, 0, () -> {});
  }

  @Test
  void jobThatNeverFitsItsDevice_goesToOneThatItMayFit() throws IOException {
    Watched service = tooSmall("a");
    try (JobPlacement placement = placement();
        Jobs jobs = fixture.open(service, placement, 1)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
    }
    assertEquals(JobsFixture.rows(ITEMS), fixture.output("o"));
    assertEquals(List.of("a", "b"), service.devices());
  }

  @Test
  void jobThatNeverFitsTheDevicesThatItMayHave_ends() throws IOException {
    devices.serve(new ModelVersion("background", 2), "b");
    Watched service = tooSmall("a", "b");
    try (JobPlacement placement = placement();
        Jobs jobs = fixture.open(service, placement, 1)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertEquals("it may have 1GiB on b", ended.reason());
      assertEquals(List.of("a", "b"), service.devices());
      service.asked.clear();
      id = jobs.submit(background("p"), Caller.ANYBODY).spec().id();
      assertEquals(JobState.FAILED, JobsFixture.ended(jobs, id).state());
      assertEquals(List.of("b"), service.devices());
    }
  }

  /** The other device's job is sent where this one may not be. */
  @Test
  void jobThatNeverFitsItsDevice_isMadeRoomOnTheOther() throws IOException {
    EchoService held = EchoService.holding();
    Watched small = tooSmall("a");
    InferenceService service =
        (request, handler) ->
            request.model().model().equals("background")
                ? small.submit(request, handler)
                : held.submit(request, handler);
    try (JobPlacement placement = placement();
        Jobs jobs = fixture.open(service, placement, 2);
        held) {
      devices.become("a", SharingState.UNHEALTHY);
      devices.look(placement);
      String other = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(held, 3);
      devices.become("a", SharingState.HEALTHY);
      devices.look(placement);
      String id = jobs.submit(background("p"), Caller.ANYBODY).spec().id();
      while (!jobs.show(id).state().isEnd() || !jobs.show(other).state().isEnd()) {
        completeAll(held);
      }
      assertEquals(JobState.DONE, jobs.show(id).state(), jobs.show(id).reason());
      assertEquals(JobState.DONE, jobs.show(other).state());
    }
    assertEquals(List.of("a", "b"), small.devices());
  }

  @Test
  void placementThatFails_costsNoThread() throws IOException {
    try (JobPlacement placement = placement();
        Jobs jobs = fixture.open(EchoService.inline(), placement, 1)) {
      devices.hasNoClock = true;
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      while (!jobs.show(id).reason().contains("there is no clock")) {
        Thread.onSpinWait();
      }
      devices.hasNoClock = false;
      devices.look(placement);
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
    }
  }

  @Test
  void onlineJob_waitsForNoDevice() throws IOException {
    devices.become("a", SharingState.OVERLIMIT);
    devices.become("b", SharingState.OVERLIMIT);
    try (JobPlacement placement = placement()) {
      Watched service = new Watched(EchoService.inline(), 0, () -> {});
      try (Jobs jobs = fixture.open(service, placement, 1)) {
        String waits = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
        String files = "\"input_file\":\"in.jsonl\",\"output_file\":\"p\",\"class\":\"online\"";
        String id = jobs.submit(JobsFixture.request(files), Caller.ANYBODY).spec().id();
        assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
        assertEquals(JobState.QUEUED, jobs.show(waits).state());
      }
      assertEquals(List.of("any"), service.devices());
    }
  }

  @Test
  void jobThatIsLeftInTheMiddle_isPlacedAnewAndGoesOn() throws IOException {
    CompletableFuture<Jobs> running = new CompletableFuture<>();
    AtomicReference<Thread> stopping = new AtomicReference<>();
    Watched service =
        new Watched(
            EchoService.inline(),
            17,
            () -> {
              Jobs jobs = running.join();
              jobs.beginStop();
              stopping.set(Thread.ofPlatform().start(() -> jobs.stop(Duration.ofDays(1))));
            });
    String id;
    try (JobPlacement placement = placement()) {
      try (Jobs jobs = fixture.open(service, placement, 1)) {
        id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
        running.complete(jobs);
        while (stopping.get() == null || stopping.get().isAlive()) {
          Thread.onSpinWait();
        }
        assertEquals(JobState.QUEUED, jobs.show(id).state());
        assertTrue(jobs.show(id).place().isEmpty());
      }
      assertEquals(List.of("a"), service.devices());
      assertEquals(
          new PlacementCounts.Device(0, Optional.empty()), placement.counts().devices().get("a"));
    }
    devices.become("a", SharingState.UNHEALTHY);
    try (JobPlacement placement = placement()) {
      Watched again = new Watched(EchoService.inline(), 0, () -> {});
      try (Jobs jobs = fixture.open(again, placement, 1)) {
        assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      }
      assertEquals(List.of("b"), again.devices());
      assertTrue(again.asked.size() < ITEMS, "it begins behind the rows that count");
    }
    assertEquals(JobsFixture.rows(ITEMS), fixture.output("o"));
  }
}
