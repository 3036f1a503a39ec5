from wmel.contract.environment import RollsStates, Walkable
from wmel.kinds import implements


class Walker:
    def displacements(self): ...
    def waypoint(self, states): ...


def test_an_ability_is_having_its_methods():
    assert implements(Walker(), Walkable)
    assert not implements(Walker(), RollsStates)
    assert not implements(object(), Walkable)
