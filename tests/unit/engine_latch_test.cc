// Latches: who gets them, and in which order.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/task.h"
#include "engine/rocksdb/latch_table.h"

namespace stator::engine {
namespace {

using Keys = std::vector<std::string>;

// People who want latches, each with a name, on one thread.
class Latches : public testing::Test {
 protected:
  struct Person {
    Person(const Keys& shared, const Keys& exclusive, std::chrono::milliseconds patience)
        : request(shared, exclusive, patience, nullptr) {}
    LatchTable::Request request;
  };

  Person& want(const std::string& name, const Keys& shared, const Keys& exclusive,
               std::chrono::milliseconds patience = std::chrono::seconds(5)) {
    people_.push_back(std::make_unique<Person>(shared, exclusive, patience));
    Person& person = *people_.back();
    start(take(person, name), [](std::exception_ptr) {});
    return person;
  }
  Task<void> take(Person& person, std::string name) {
    LatchTable::Acquire acquire = table_.acquire(person.request);
    const bool held = co_await acquire;
    story_ += name + (held ? " " : "! ");
  }
  void let_go(Person& person) { table_.release(person.request); }
  void later(std::chrono::milliseconds by) { table_.expire(std::chrono::steady_clock::now() + by); }

  std::string story_;
  LatchTable table_{[] {}};
  std::deque<std::unique_ptr<Person>> people_;
};

TEST_F(Latches, sharers_go_together_and_an_owner_goes_alone) {
  Person& a = want("a", {"k"}, {});
  Person& b = want("b", {"k"}, {});
  Person& c = want("c", {}, {"k"});
  EXPECT_EQ(story_, "a b ");
  let_go(a);
  EXPECT_EQ(story_, "a b ");
  let_go(b);
  EXPECT_EQ(story_, "a b c ");
  let_go(c);
  EXPECT_FALSE(table_.anyone_waits());
}

TEST_F(Latches, first_come_is_first_served_so_nobody_starves) {
  Person& a = want("a", {"k"}, {});
  Person& b = want("b", {}, {"k"});
  Person& c = want("c", {"k"}, {});
  Person& d = want("d", {"k"}, {});
  Person& e = want("e", {}, {"k"});
  EXPECT_EQ(story_, "a ");
  let_go(a);
  EXPECT_EQ(story_, "a b ");
  let_go(b);
  EXPECT_EQ(story_, "a b c d ");
  let_go(c);
  let_go(d);
  EXPECT_EQ(story_, "a b c d e ");
  let_go(e);
}

TEST_F(Latches, who_gives_up_holds_nothing_and_lets_those_behind_go_on) {
  Person& a = want("a", {"k"}, {});
  Person& b = want("b", {}, {"j", "k", "l"}, std::chrono::milliseconds(10));
  Person& c = want("c", {"k"}, {});
  later(std::chrono::milliseconds(5));
  EXPECT_EQ(story_, "a ");
  later(std::chrono::milliseconds(20));
  EXPECT_TRUE(b.request.timed_out());
  EXPECT_NE(story_.find("b!"), std::string::npos);
  EXPECT_NE(story_.find("c"), std::string::npos);
  Person& d = want("d", {}, {"j", "l"}, std::chrono::milliseconds(0));
  EXPECT_FALSE(d.request.timed_out());
  let_go(a);
  let_go(c);
  let_go(d);
}

TEST_F(Latches, no_patience_means_now_or_never) {
  Person& a = want("a", {}, {"k"});
  Person& b = want("b", {}, {"j", "k"}, std::chrono::milliseconds(0));
  EXPECT_TRUE(b.request.timed_out());
  Person& c = want("c", {}, {"j"}, std::chrono::milliseconds(0));
  EXPECT_FALSE(c.request.timed_out());
  let_go(a);
  let_go(c);
}

TEST_F(Latches, a_key_wanted_twice_is_taken_once_and_alone_if_one_wants_it_so) {
  Person& a = want("a", {"k", "k", "j"}, {"k", "k"});
  Person& b = want("b", {"k"}, {});
  Person& c = want("c", {"j"}, {});
  EXPECT_EQ(story_, "a c ");
  let_go(a);
  EXPECT_EQ(story_, "a c b ");
  let_go(b);
  let_go(c);
}

TEST_F(Latches, many_keys_are_held_like_few) {
  Keys keys;
  for (int i = 0; i < 100; ++i) keys.push_back("k" + std::to_string(i));
  Keys twice;  // more than fit into the request itself, but few distinct ones
  for (int i = 0; i < 20; ++i) twice.push_back("k" + std::to_string(i % 3));
  Person& a = want("a", {}, keys);
  Person& b = want("b", {}, twice);
  Person& c = want("c", {"k50"}, {});
  EXPECT_EQ(story_, "a ");
  let_go(a);
  EXPECT_EQ(story_.size(), std::string("a b c ").size());
  let_go(b);
  let_go(c);
  Person& d = want("d", {}, keys, std::chrono::milliseconds(0));
  EXPECT_FALSE(d.request.timed_out());
  let_go(d);
}

TEST_F(Latches, a_long_chain_of_waiters_uses_no_stack) {
  struct Chain {
    static Task<void> link(LatchTable& table, int& done) {
      const Keys none;
      const Keys key{"k"};
      LatchTable::Request request(none, key, std::chrono::seconds(60), nullptr);
      LatchTable::Acquire acquire = table.acquire(request);
      co_await acquire;
      ++done;
      table.release(request);
    }
  };
  Person& first = want("first", {}, {"k"});
  int done = 0;
  constexpr int kLinks = 100'000;
  for (int i = 0; i < kLinks; ++i) start(Chain::link(table_, done), [](std::exception_ptr) {});
  EXPECT_EQ(done, 0);
  let_go(first);
  EXPECT_EQ(done, kLinks);
}

}  // namespace
}  // namespace stator::engine
