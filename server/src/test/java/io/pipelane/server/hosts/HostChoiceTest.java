package io.pipelane.server.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.hosts.HostChoice.Here;
import io.pipelane.server.hosts.HostChoice.Plan;
import io.pipelane.server.hosts.RemoteHost.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class HostChoiceTest {
  private static final long HOP = 1_000_000;
  private static final OptionalLong NOT_HERE = OptionalLong.empty();
  private static final Duration LATE_FOR = Duration.ofNanos(10);

  private long now;

  private static HostAddress address(String name) {
    return new HostAddress(name, 80, false);
  }

  private static Announcement says(String name, long waitMicros, OfferedModel... models) {
    return new Announcement(address(name), "1", false, 2, waitMicros, 4_000, List.of(models));
  }

  private RemoteHost host(String name, long waitMicros, OfferedModel... models) {
    return heard(says(name, waitMicros, models));
  }

  private RemoteHost heard(Announcement announcement) {
    return new RemoteHost(announcement, new HostCounters(), () -> now, LATE_FOR);
  }

  private static OfferedModel model(long version, long stallMicros) {
    return new OfferedModel("m", version, false, stallMicros);
  }

  private static OfferedModel stateful() {
    return new OfferedModel("m", 1, true, 0);
  }

  private static Plan plan(OptionalLong hereNanos, long version, RemoteHost... hosts) {
    return plan("", hereNanos, version, hosts);
  }

  private static Plan plan(
      String content, OptionalLong hereNanos, long version, RemoteHost... hosts) {
    Here here = new Here("here:80", hereNanos, version, false, content);
    return HostChoice.choose(here, "m", List.of(hosts), HOP, 0);
  }

  private static List<String> names(Plan plan) {
    return plan.hosts().stream().map(RemoteHost::toString).toList();
  }

  @Test
  void modelNotHere_goesWhereItBeginsFirst() {
    RemoteHost busy = host("busy", 9_000, model(1, 0));
    RemoteHost cold = host("cold", 0, model(1, 5_000));
    RemoteHost warm = host("warm", 1_000, model(1, 0));
    RemoteHost other = host("other", 0, new OfferedModel("another", 1, false, 0));
    assertEquals(List.of("warm:80", "cold:80"), names(plan(NOT_HERE, 0, busy, cold, warm, other)));
  }

  @Test
  void modelHere_goesElsewhereOnlyWhereItIsSoonerByAHop() {
    RemoteHost idle = host("idle", 0, model(1, 0));
    assertEquals(List.of(), names(plan(OptionalLong.of(HOP), 1, idle)));
    assertEquals(List.of("idle:80"), names(plan(OptionalLong.of(HOP + 1), 1, idle)));
  }

  @Test
  void versions_areThoseThatThisHostWouldAnswerWith() {
    RemoteHost old = host("old", 0, model(1, 0));
    RemoteHost young = host("young", 500, model(1, 0), model(2, 0));
    assertEquals(List.of("young:80"), names(plan(NOT_HERE, 2, old, young)));
    assertEquals(List.of("old:80", "young:80"), names(plan(NOT_HERE, 0, old, young)));
    assertTrue(plan(NOT_HERE, 3, old, young).hosts().isEmpty());
    assertFalse(plan(NOT_HERE, 3, old, young).known());
    assertEquals(2, young.offered("m", 0).orElseThrow().version());
  }

  private RemoteHost having(String name, String content, long stallMicros) {
    return host(name, 0, new OfferedModel("m", 1, false, stallMicros, content));
  }

  @Test
  void contentThatIsHere_isNotAnsweredWithAnotherUnderTheSameNumber() {
    String here = "0123456789abcdef";
    OptionalLong late = OptionalLong.of(1_000_000_000);
    RemoteHost same = having("same", here, 3_000);
    RemoteHost other = having("other", "fedcba9876543210", 0);
    RemoteHost silent = having("silent", "", 2_000);
    assertEquals(List.of("silent:80", "same:80"), names(plan(here, late, 1, same, other, silent)));
    assertEquals(List.of(), names(plan(here, late, 1, other)));
    assertEquals(List.of("other:80", "silent:80"), names(plan("", late, 1, other, silent)));
  }

  @Test
  void contentThatIsNotHere_isWhatMostHave_andTheRestWhenTheseDoNotAnswer() {
    RemoteHost old = having("old", "a", 0);
    RemoteHost fresh = having("fresh", "b", 1_000);
    RemoteHost second = having("second", "b", 2_000);
    assertEquals(List.of("fresh:80", "old:80"), names(plan(NOT_HERE, 1, old, fresh)));
    assertEquals(List.of("fresh:80", "second:80"), names(plan(NOT_HERE, 0, old, fresh, second)));
    fresh.suspectUntil(10, 0);
    second.suspectUntil(10, 0);
    assertEquals(List.of("old:80"), names(plan(NOT_HERE, 1, old, fresh, second)));
  }

  @Test
  void whatAHostWasGivenSinceItsLastWord_counts() {
    RemoteHost first = host("first", 0, model(1, 0));
    RemoteHost second = host("second", 1_000, model(1, 0));
    assertEquals(List.of("first:80", "second:80"), names(plan(NOT_HERE, 0, first, second)));
    RemoteHost.Given given = first.give(() -> {});
    assertEquals(List.of("second:80", "first:80"), names(plan(NOT_HERE, 0, first, second)));
    first.says(says("first", 0, model(1, 0)));
    assertEquals(List.of("first:80", "second:80"), names(plan(NOT_HERE, 0, first, second)));
    given.end(Outcome.ANSWERED); // Of what counts no more.
    assertEquals(List.of("first:80", "second:80"), names(plan(NOT_HERE, 0, first, second)));
    assertEquals(0, first.underWay());
  }

  @Test
  void suspects_areLeftAloneUntilTheirTimeIsOver_orTheyAreStartedAnew() {
    RemoteHost host = host("host", 0, model(1, 0));
    host.suspectUntil(10, 0);
    assertTrue(plan(NOT_HERE, 0, host).hosts().isEmpty());
    assertTrue(plan(NOT_HERE, 0, host).known());
    host.says(says("host", 0, model(1, 0)));
    assertTrue(host.isSuspect(9));
    assertFalse(host.isSuspect(10));
    host.says(new Announcement(address("host"), "2", false, 2, 0, 0, List.of(model(1, 0))));
    assertFalse(host.isSuspect(9));
  }

  @Test
  void hostThatHasNotAnsweredInTime_isAskedLastForAWhile_orUntilItAnswers() {
    RemoteHost late = host("late", 0, model(1, 0));
    RemoteHost other = host("other", 5_000, model(1, 0));
    end(late, Outcome.LATE);
    assertEquals(List.of("other:80", "late:80"), names(plan(NOT_HERE, 0, late, other)));
    assertEquals(List.of("late:80"), names(plan(NOT_HERE, 0, late)), "nobody else has it");
    assertEquals(List.of(), names(plan(OptionalLong.of(1_000_000_000), 1, late)));
    assertTrue(late.isLate(9));
    assertFalse(late.isLate(10));
    for (Outcome proof : List.of(Outcome.ANSWERED, Outcome.REFUSED, Outcome.TOO_LARGE)) {
      end(late, proof);
      assertFalse(late.isLate(9), proof::toString);
      end(late, Outcome.LATE);
      assertTrue(late.isLate(9));
    }
    end(late, Outcome.ANSWERED);
    assertEquals(List.of("late:80", "other:80"), names(plan(NOT_HERE, 0, late, other)));
  }

  private static void end(RemoteHost host, Outcome outcome) {
    host.give(() -> {}).end(outcome);
  }

  @Test
  void hostThatAnswersOthersMeanwhile_isNotLate_andOneThatIsBecomesItNoLonger() {
    RemoteHost host = host("host", 0, model(1, 0));
    RemoteHost.Given slow = host.give(() -> {});
    end(host, Outcome.ANSWERED);
    slow.end(Outcome.LATE);
    assertFalse(host.isLate(now));
    RemoteHost.Given former = host.give(() -> {});
    host.says(new Announcement(address("host"), "2", false, 2, 0, 0, List.of(model(1, 0))));
    former.end(Outcome.LATE);
    assertFalse(host.isLate(now), "it has been started anew since");
    end(host, Outcome.LATE);
    now = 9;
    end(host, Outcome.LATE); // Of whoever had no other to ask.
    assertFalse(host.isLate(10));
  }

  @Test
  void hostThatAnswersNobodyUntilTheirDeadlines_isLateOnceTheyHaveWaitedLongEnoughTogether() {
    RemoteHost host = host("host", 0, model(1, 0));
    Duration answerTimeout = Duration.ofNanos(100);
    for (int i = 0; i < 3; i++) {
      RemoteHost.Given given = host.give(() -> {});
      now += 40;
      assertFalse(host.isLate(now));
      if (i == 1) {
        end(host, Outcome.ANSWERED);
      }
      given.endOverdue(answerTimeout);
    }
    assertFalse(host.isLate(now), "it has answered meanwhile");
    RemoteHost.Given given = host.give(() -> {});
    now += 60;
    given.endOverdue(answerTimeout);
    assertTrue(host.isLate(now));
  }

  @Test
  void requestsThatWaitAtTheSameTime_countOnce() {
    RemoteHost host = host("host", 0, model(1, 0));
    Duration answerTimeout = Duration.ofNanos(100);
    List<RemoteHost.Given> all = Stream.generate(() -> host.give(() -> {})).limit(70).toList();
    now += 99;
    all.forEach(given -> given.endOverdue(answerTimeout));
    assertFalse(host.isLate(now));
    RemoteHost.Given last = host.give(() -> {});
    now += 1;
    last.endOverdue(answerTimeout);
    assertTrue(host.isLate(now));
  }

  @Test
  void hostThatWasLate_staysSoWhereTheRequestThatTriesItMeetsItsDeadline() {
    RemoteHost host = host("host", 0, model(1, 0));
    end(host, Outcome.LATE);
    now = 10;
    RemoteHost.Given trial = host.give(() -> {});
    now = 12;
    trial.endOverdue(Duration.ofNanos(100));
    assertTrue(host.isLate(21));
    assertFalse(host.isLate(22));
  }

  @Test
  void hostThatWasLate_isTriedByOneRequestAtATime_howeverThatEnds() {
    RemoteHost host = host("host", 0, model(1, 0));
    end(host, Outcome.LATE);
    now = 10;
    for (Outcome outcome : List.of(Outcome.CANCELLED, Outcome.LOST)) {
      RemoteHost.Given trial = host.give(() -> {});
      assertTrue(host.isLate(now));
      now += 1_000;
      end(host, Outcome.CANCELLED); // Of one that had nobody else to ask.
      assertTrue(host.isLate(now));
      trial.end(outcome);
      assertFalse(host.isLate(now), outcome::toString);
    }
    end(host, Outcome.LATE);
    assertTrue(host.isLate(now + 9));
    assertFalse(host.isLate(now + 10));
  }

  @Test
  void ownerOfState_isAskedThoughItHasNotAnsweredInTime() {
    RemoteHost first = host("a", 0, stateful());
    RemoteHost second = host("b", 0, stateful());
    List<String> before = names(plan(NOT_HERE, 0, first, second));
    end(first, Outcome.LATE);
    assertEquals(before, names(plan(NOT_HERE, 0, first, second)));
    end(second, Outcome.LATE);
    assertEquals(before, names(plan(NOT_HERE, 0, first, second)));
  }

  @Test
  void hostsThatLeave_areAskedNoMore() {
    Announcement leaving =
        new Announcement(address("host"), "1", true, 2, 0, 0, List.of(model(1, 0)));
    RemoteHost host = heard(leaving);
    assertFalse(plan(NOT_HERE, 0, host).known());
  }

  @Test
  void modelsWithState_haveOneHostOnWhichAllAgree() {
    List<String> names = List.of("a", "b", "c", "d");
    Map<String, Integer> owned = new HashMap<>();
    for (int i = 0; i < 400; i++) {
      String model = "m" + i;
      List<String> owners = new ArrayList<>();
      for (String own : names) {
        owners.add(owner(model, own, names));
      }
      assertEquals(1, owners.stream().distinct().count(), () -> model + " " + owners);
      String owner = owners.getFirst();
      owned.merge(owner, 1, Integer::sum);
      List<String> left = names.stream().filter(name -> !name.equals("d")).toList();
      String later = owner(model, "a", left);
      assertTrue(owner.equals("d:80") || owner.equals(later), "only what the lost one had moves");
    }
    assertTrue(owned.values().stream().allMatch(count -> count > 60), owned::toString);
  }

  /** Which of some hosts a request for a model with state goes to that came to one of them. */
  private String owner(String model, String own, List<String> names) {
    OfferedModel offered = new OfferedModel(model, 1, true, 0);
    List<RemoteHost> others =
        names.stream()
            .filter(name -> !name.equals(own))
            .map(name -> host(name, 0, offered))
            .toList();
    Here here = new Here(own + ":80", OptionalLong.of(0), 1, true, "");
    Plan plan = HostChoice.choose(here, model, others, HOP, 0);
    assertTrue(plan.keepsState());
    return Stream.concat(names(plan).stream(), Stream.of(own + ":80")).findFirst().orElseThrow();
  }

  @Test
  void stateThatOnlyOthersKnowOf_counts() {
    assertTrue(plan(NOT_HERE, 0, host("a", 0, stateful()), host("b", 0, stateful())).keepsState());
  }
}
